// A real server for the tests, in a folder of its own.

import {execFileSync, spawn} from 'node:child_process';
import {once} from 'node:events';
import {cpSync, existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import net from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const built = ['debug', 'release'].map(kind => new URL(`../../../.build/${kind}/sealpost`, import.meta.url).pathname);
/**
 * The server's executable: that of this repository's build, unless `SEALPOST_EXECUTABLE` names
 * another.
 */
const executable = process.env.SEALPOST_EXECUTABLE ?? built.find(existsSync);
if (!executable) throw new Error('there is no executable: run make build, or set SEALPOST_EXECUTABLE');

export const PASSWORD = 'correct horse battery';

/** The database and the token of a new server. Copies take less time than the commands. */
let made;

export class Server {
  #environment;
  #port;

  /**
   * Starts a server with the users alice and paul, a publisher. `settings` are
   * environment variables, named without `SEALPOST_`.
   */
  static async start(t, {settings = {}, files = {}} = {}) {
    const server = new Server();
    server.folder = mkdtempSync(join(tmpdir(), 'sealpost-node-'));
    t.after(() => server.#remove());
    for (const [name, text] of Object.entries(files)) writeFileSync(join(server.folder, name), text, {mode: 0o600});
    server.#environment = {PATH: process.env.PATH, ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [`SEALPOST_${name}`, value]))};
    made ??= Server.#make();
    cpSync(made.folder, server.folder, {recursive: true});
    server.token = made.token;
    await server.serve();
    return server;
  }

  /** Makes the database in a folder that lasts until the process ends. */
  static #make() {
    const folder = mkdtempSync(join(tmpdir(), 'sealpost-node-'));
    process.once('exit', () => rmSync(folder, {recursive: true}));
    const maker = new Server();
    maker.folder = folder;
    maker.#environment = {PATH: process.env.PATH};
    maker.run(['user', 'add', 'alice', '--role', 'device', '--password-stdin'], PASSWORD);
    maker.run(['user', 'add', 'root', '--role', 'admin', '--password-stdin'], PASSWORD);
    maker.run(['user', 'add', 'paul', '--role', 'publisher', '--password-stdin'], PASSWORD);
    return {folder, token: maker.tokenOf('paul', ['send', 'fetch', 'manage'])};
  }

  run(command, input = '') {
    return execFileSync(executable, command, {cwd: this.folder, env: this.#environment, input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore']});
  }

  tokenOf(user, scopes) {
    return this.run(['token', 'create', user, ...scopes.flatMap(scope => ['--scope', scope])]).trim();
  }

  get url() {
    return `http://127.0.0.1:${this.#port}`;
  }

  /**
   * Starts the process, and waits until it serves. After a `kill` the port is the same as before.
   */
  async serve() {
    const environment = {SEALPOST_SERVER_LISTEN: `127.0.0.1:${this.#port ?? 0}`, ...this.#environment};
    this.process = spawn(executable, ['serve'], {cwd: this.folder, env: environment, stdio: ['ignore', 'ignore', 'pipe']});
    let log = '';
    for await (const piece of this.process.stderr.iterator({destroyOnReturn: false})) {
      log += piece;
      const found = /serving.*127\.0\.0\.1:([0-9]+)/.exec(log);
      if (!found) continue;
      this.#port = Number(found[1]);
      // The log must be read, because the process would otherwise wait when the pipe is full.
      this.process.stderr.resume();
      return;
    }
    throw new Error(log);
  }

  /** Ends the process like a power cut. */
  async kill() {
    if (this.process?.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }

  async #remove() {
    await this.kill();
    rmSync(this.folder, {recursive: true});
  }
}

/**
 * A proxy that cuts a share of the server's answers, alternately before their first byte and in
 * the middle. In each run the answers with the same numbers are cut.
 *
 * Requests are not cut, so the server carries them out, although the client does not get the
 * answer.
 */
export class LossyProxy {
  answers = 0;
  cuts = 0;
  random = 1;

  static async start(t, url, share) {
    const proxy = new LossyProxy(), sockets = new Set();
    const listener = net.createServer(client => {
      const server = net.connect(Number(new URL(url).port), '127.0.0.1');
      for (const socket of [client, server]) {
        sockets.add(socket);
        socket.on('error', () => {}).on('close', () => {
          sockets.delete(socket);
          client.destroy();
          server.destroy();
        });
      }
      client.pipe(server);
      server.on('data', piece => {
        if (!piece.subarray(0, 5).equals(Buffer.from('HTTP/'))) return client.write(piece);
        proxy.answers += 1;
        proxy.random = (Math.imul(proxy.random, 1_103_515_245) + 12_345) & 0x7fffffff;
        if (proxy.random / 2 ** 31 >= share) return client.write(piece);
        proxy.cuts += 1;
        if (proxy.cuts % 2) return client.destroy();
        client.write(piece.subarray(0, piece.length - 20), () => client.destroy());
      });
    });
    t.after(() => {
      listener.close();
      for (const socket of sockets) socket.destroy();
    });
    await once(listener.listen(0, '127.0.0.1'), 'listening');
    proxy.url = `http://127.0.0.1:${listener.address().port}`;
    return proxy;
  }
}
