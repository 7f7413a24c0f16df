'use strict';
// The file system that the Go program sees: the files of the editor, which nothing can change. All
// other calls are those of wasm_exec.js, and fail.
(() => {
  const encoder = new TextEncoder();
  let files = new Map();
  const open = new Map();
  let last = 100;

  const failure = code => Object.assign(new Error(code), {code});
  const clean = path => path.split('/').filter(part => part && part !== '.').join('/');
  const isDirectory = path => path === '' || [...files.keys()].some(name => name.startsWith(path + '/'));
  const inode = path => 1 + [...files.keys()].indexOf(path);

  const stat = path => {
    const data = files.get(path);
    if (!data && !isDirectory(path)) return null;
    const mode = data ? 0o100444 : 0o040555;
    return {
      dev: 1, ino: data ? inode(path) : 1000 + path.length, mode, nlink: 1, uid: 0, gid: 0, rdev: 0,
      size: data ? data.length : 0, blksize: 4096, blocks: 0, atimeMs: 0, mtimeMs: 0, ctimeMs: 0,
      isDirectory: () => !data,
    };
  };
  const answer = (callback, value, code = 'ENOENT') => value === null ? callback(failure(code)) : callback(null, value);

  const names = ['chmod', 'chown', 'fchmod', 'fchown', 'ftruncate', 'lchown', 'link', 'mkdir', 'readlink', 'rename',
    'rmdir', 'symlink', 'truncate', 'unlink', 'utimes'];
  globalThis.fs = {
    constants: {O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_TRUNC: 512, O_APPEND: 1024, O_EXCL: 128, O_DIRECTORY: 65536},
    ...Object.fromEntries(names.map(name => [name, (...args) => args.at(-1)(failure('EROFS'))])),
    open(path, flags, mode, callback) {
      path = clean(path);
      if (flags & 3) return callback(failure('EROFS'));
      if (!stat(path)) return callback(failure('ENOENT'));
      open.set(++last, {path, at: 0});
      callback(null, last);
    },
    close(fd, callback) { answer(callback, open.delete(fd) ? 0 : null, 'EBADF'); },
    fstat(fd, callback) { answer(callback, open.has(fd) ? stat(open.get(fd).path) : null, 'EBADF'); },
    stat(path, callback) { answer(callback, stat(clean(path))); },
    lstat(path, callback) { answer(callback, stat(clean(path))); },
    readdir(path, callback) {
      const prefix = clean(path) ? clean(path) + '/' : '';
      const below = [...files.keys()].filter(name => name.startsWith(prefix));
      callback(null, [...new Set(below.map(name => name.slice(prefix.length).split('/')[0]))].sort());
    },
    read(fd, buffer, offset, length, position, callback) {
      const file = open.get(fd);
      if (!file) return callback(failure('EBADF'));
      const data = files.get(file.path);
      if (!data) return callback(failure('EISDIR'));
      const from = position === null ? file.at : position;
      const part = data.subarray(from, from + length);
      buffer.set(part, offset);
      if (position === null) file.at += part.length;
      callback(null, part.length);
    },
    writeSync(fd, buffer) { // what Go prints when it panics
      console.error(new TextDecoder().decode(buffer));
      return buffer.length;
    },
    write(fd, buffer, offset, length, position, callback) {
      callback(null, this.writeSync(fd, buffer.subarray(offset, offset + length)));
    },
    fsync(fd, callback) { callback(null); },
  };
  globalThis.process = {
    getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0, getgroups: () => [], pid: 1, ppid: 1,
    umask: () => 0, cwd: () => '/', chdir() { throw failure('ENOSYS'); },
  };
  globalThis.path = {resolve: (...parts) => '/' + clean(parts.join('/'))};

  // setFiles replaces all files: a list of {name, text}.
  globalThis.setFiles = list => {
    files = new Map(list.map(({name, text}) => [clean(name), encoder.encode(text)]));
    open.clear();
  };
})();
