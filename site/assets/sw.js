'use strict';
// The service worker keeps the files of one version of the site. The build writes the version and
// the list of the files before this line. A new version waits until no page of the old one is open.
const address = name => new URL(name, registration.scope).href;

addEventListener('install', event => event.waitUntil(
  caches.open(version).then(cache => cache.addAll(files.map(address)))));

addEventListener('activate', event => event.waitUntil((async () => {
  for (const name of await caches.keys()) {
    if (name.startsWith('probesim-') && name !== version) await caches.delete(name);
  }
  await clients.claim();
})()));

addEventListener('fetch', event => {
  const {method, url} = event.request;
  if (method !== 'GET' || !url.startsWith(registration.scope)) return;
  event.respondWith(caches.open(version).then(async cache =>
    await cache.match(url.split(/[?#]/)[0]) ?? fetch(event.request)));
});
