'use strict';
// The service worker keeps the files of one version of the site. The build writes the version and
// the list of the files before this line. A new version waits until no page of the old one is open.
const address = name => new URL(name, registration.scope).href.replace(/\/index\.html$/, '/'); // as servers redirect

// The program is large: only a visit of the playground keeps it.
const program = 'probesim.wasm';

addEventListener('install', event => event.waitUntil(
  caches.open(version).then(cache => cache.addAll(files.filter(name => name !== program).map(address)))));

addEventListener('message', event => event.waitUntil((async () => {
  const cache = await caches.open(version);
  if (!await cache.match(address(program))) await cache.add(address(program));
})()));

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
    await cache.match(address(url.split(/[?#]/)[0])) ?? fetch(event.request)));
});
