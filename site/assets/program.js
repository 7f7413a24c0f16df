// Program is the Go program in its worker. It runs the latest job: a job that waits makes way for
// the next one.
export class Program {
  constructor(handlers, module) {
    Object.assign(this, handlers);
    this.module = module;
    this.last = 0;
    this.sets = new Map();
    this.ready = (module ? this.start() : this.load()).catch(error => {
      this.failed(`The program did not load: ${error.message}`);
      throw error;
    });
  }

  // another returns the same program in a worker of its own.
  another() { return new Program({answer: this.answer, failed: this.failed}, this.module); }

  get idle() { return !this.running && !this.waiting; }

  // load fetches and compiles the program, and says how far it is.
  async load() {
    const {size} = await (await fetch('probesim.json')).json();
    const response = await fetch('probesim.wasm');
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    let have = 0;
    const counted = response.body.pipeThrough(new TransformStream({
      transform: (chunk, controller) => {
        have += chunk.length;
        this.progress(0.95 * have / size, `Loading: ${(have / size * 100).toFixed(0)} %`);
        controller.enqueue(chunk);
      },
    }));
    const type = {headers: {'Content-Type': 'application/wasm'}};
    this.module = await WebAssembly.compileStreaming(new Response(counted, type));
    await this.start();
    this.progress(1);
  }

  // start starts a worker with the program.
  start() {
    const worker = this.worker = new Worker('worker.js');
    this.running = undefined;
    return new Promise(resolve => {
      worker.onmessage = ({data}) => {
        if (this.worker !== worker) return;
        if (data.broken) {
          this.failed(`The program does not start: ${data.broken}`);
        } else if (data.ready) {
          this.started = true;
          resolve();
          this.next();
        } else {
          this.take(data);
        }
      };
      worker.onerror = event => {
        if (this.worker !== worker) return;
        this.restart();
        this.failed(`The program ended: ${event.message}`);
      };
      worker.postMessage({module: this.module});
    });
  }

  restart() {
    this.worker.terminate();
    this.started = false;
    for (const done of this.sets.values()) done(undefined);
    this.sets.clear();
    this.start();
  }

  // stop ends the job that runs, and the one that waits.
  stop() {
    this.waiting = undefined;
    if (this.running) this.restart();
  }

  // end ends the worker for good.
  end() { this.worker.terminate(); }

  // run runs a job after the one that runs, unless another one comes before.
  run(job) {
    this.waiting = {...job, id: ++this.last};
    this.next();
  }

  // set resolves to a file with another value of a setting, or to nothing.
  set(name, text, setting) {
    const id = ++this.last;
    return new Promise(resolve => {
      if (!this.started) return resolve(undefined);
      this.sets.set(id, resolve);
      this.worker.postMessage({id, set: {name, text, setting}});
    });
  }

  next() {
    if (!this.started || this.running || !this.waiting) return;
    const job = this.running = this.waiting;
    this.waiting = undefined;
    const {args, files, settings, id} = job;
    this.worker.postMessage({id, args, settings, files});
  }

  take(data) {
    const done = this.sets.get(data.id);
    if (done) {
      this.sets.delete(data.id);
      done(data.text);
      return;
    }
    const job = this.running;
    this.running = undefined;
    if (data.failed) {
      this.restart();
      this.failed(`The program ended: ${data.failed}`);
      return;
    }
    this.answer(job, data);
    this.next();
  }
}
