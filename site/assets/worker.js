'use strict';
// The worker has the Go program. It answers a message at a time: the page ends it to stop one.
importScripts('fs.js', 'wasm_exec.js');

const go = new Go();
let ready;

async function start(module) {
  const instance = await WebAssembly.instantiate(module, go.importObject);
  const ended = go.run(instance); // until the worker ends
  if (!globalThis.probesim) {
    await ended;
    throw new Error('the program ended at its start');
  }
  for (const name of ['window', 'fetch', 'XMLHttpRequest', 'WebSocket', 'importScripts']) delete globalThis[name];
}

const call = ({args, files}) => new Promise(resolve => {
  setFiles(files);
  const began = performance.now();
  probesim(args, (code, stdout, stderr) => resolve({code, stdout, stderr, took: performance.now() - began}));
});

onmessage = async ({data}) => {
  try {
    if (data.module) {
      ready = start(data.module);
      await ready;
      postMessage({ready: true});
      return;
    }
    await ready;
    if (data.set) {
      postMessage({id: data.id, text: probesimSet(data.set.name, data.set.text, JSON.stringify(data.set.setting))});
      return;
    }
    const settings = data.settings ? JSON.parse(probesimSettings(data.settings.name, data.settings.text)) : null;
    postMessage({id: data.id, settings, ...await call(data)});
  } catch (error) {
    postMessage(data.module ? {broken: String(error)} : {id: data.id, failed: String(error)});
  }
};
