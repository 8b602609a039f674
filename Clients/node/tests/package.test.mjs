// The package as a backend gets it: its content, and its types with TypeScript's compiler.

import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import {cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';

import * as library from '../src/index.js';
import {MEMBERS} from '../src/wire.js';

const sources = new URL('..', import.meta.url).pathname, read = name => readFileSync(join(sources, name), 'utf8');
const about = JSON.parse(read('package.json'));
/** Debian's node-typescript; `SEALPOST_TSC` names another compiler. */
const compiler = process.env.SEALPOST_TSC ?? ['/usr/share/nodejs/typescript/bin/tsc'].find(existsSync);

/** The package in the folder of a new backend, as `npm install` would lay it out. */
function install(t) {
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-package-')), place = join(folder, 'node_modules', about.name);
  t.after(() => rmSync(folder, {recursive: true}));
  mkdirSync(place, {recursive: true});
  for (const name of [...about.files, 'package.json']) cpSync(join(sources, name), join(place, name), {recursive: true});
  return folder;
}

test('the package has the version of the server, and another name than the client for browsers', () => {
  assert.equal(about.version, /current = "([^"]+)"/.exec(read('../../Sources/PushApplication/Version.swift'))[1]);
  assert.notEqual(about.name, JSON.parse(read('../web/package.json')).name);
});

test('npm packs the modules, their types, the licence and nothing else', {skip: spawnSync('npm', ['--version']).status === 0 ? false : 'npm is not installed'}, () => {
  const [{files}] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--offline'], {cwd: sources, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']}));
  const modules = readdirSync(join(sources, 'src')).map(name => `src/${name}`);
  assert.deepEqual(files.map(({path}) => path).sort(), ['LICENSE', 'README.md', 'index.d.ts', 'package.json', ...modules].sort());
  assert.equal(read('LICENSE'), read('../../LICENSE'));
});

test('a backend imports the package by its name', t => {
  const folder = install(t);
  writeFileSync(join(folder, 'app.mjs'), `import {Client} from '${about.name}'; console.log(new Client({server: 'https://push.example.com', token: 'x'}).account);`);
  assert.equal(execFileSync(process.execPath, ['app.mjs'], {cwd: folder, encoding: 'utf8'}), 'null\n');
});

test('the types have the members of the modules, no more and no fewer', () => {
  const types = read('index.d.ts'), names = [...types.matchAll(/^export (?:class|function) ([a-zA-Z]+)/gm)].map(([, name]) => name);
  assert.deepEqual(names.sort(), Object.keys(library).sort());
  const body = types.slice(types.indexOf('export class Client {'), types.indexOf('/** The codes'));
  const declared = [...body.matchAll(/^ {2}(?:get )?([a-zA-Z]+)\(/gm)].map(([, name]) => name);
  assert.deepEqual(declared.sort(), Object.getOwnPropertyNames(library.Client.prototype).sort());
});

test('the members of a notification and an alert are those of the types', () => {
  const types = read('index.d.ts'), declared = name => types.slice(types.indexOf(`export interface ${name} {`)).split('\n}', 1)[0].matchAll(/^ {2}([a-zA-Z]+)\??:/gm);
  for (const [kind, names] of Object.entries(MEMBERS)) assert.deepEqual([...declared(kind[0].toUpperCase() + kind.slice(1))].map(([, name]) => name), names);
});

test('the codes are those of the documentation, and the kinds those of the library', () => {
  const types = read('index.d.ts'), union = name => [...types.slice(types.indexOf(`type ${name} =`)).split(';', 1)[0].matchAll(/'([a-zA-Z-]+)'/g)].map(([, code]) => code);
  assert.deepEqual(union('ProblemCode').sort(), [...read('../../docs/errors.md').matchAll(/^## `([a-z-]+)`/gm)].map(([, code]) => code).sort());
  const code = readdirSync(join(sources, 'src')).map(name => read(`src/${name}`)).join('');
  for (const kind of union('InterferenceKind')) assert.ok(code.includes(`'${kind}'`), kind);
});

/** Each line after `@ts-expect-error` must not compile. */
const WRONG = `
import {Client, ProblemError, Webhook, type EventPage, type Sent} from '${about.name}';

const publisher = new Client({server: new URL('https://push.example.com'), token: async () => 'x', signingKeys: ['key', {kty: 'EC', crv: 'P-256', x: '', y: ''}]});
const sent: Sent = await publisher.send({payload: 7, priority: 'normal'}, {signal: new AbortController().signal});
const time: number | undefined = sent.sendAt?.getTime();
const [first] = await publisher.sendMany(new Set([{payload: 'x'}]));
if (first?.status === 'fulfilled') console.log(first.value.id, time);
const {cursor, more}: EventPage = await publisher.events({limit: 7});
console.log(cursor, more);
const message = new Webhook(['x']).verify(new Headers(), new Uint8Array());
if (message.type === 'events') console.log(message.events[0]?.number);
const {counts: {failed}}: {counts: {failed: number}} = await publisher.counts(7);

// @ts-expect-error a server and a token are required
new Client({});
// @ts-expect-error an empty list pins nothing
new Client({server: 'https://push.example.com', token: 'x', signingKeys: []});
// @ts-expect-error a notification has a payload
await publisher.send({to: 'username:alice'});
// @ts-expect-error expiresIn is misspelt
await publisher.send({payload: 'x', expireIn: failed});
// @ts-expect-error an id is a number
await publisher.recall('7');
// @ts-expect-error the outcome may be a refusal
first.value.id;
// @ts-expect-error only pushes have one
message.secureId;
try {} catch (error) {
  // @ts-expect-error no such code
  if (error instanceof ProblemError && error.code === 'unknown-users') throw error;
}
`;

/** The names of Node in the samples, without @types/node. */
const NODE = `
declare const process: {env: Record<string, string | undefined>};
declare module 'node:http' { export function createServer(listener: (request: any, response: any) => void): {listen(port: number): void}; }
declare module 'node:fs' { export function readFileSync(name: string, encoding: 'utf8'): string; export function existsSync(name: string): boolean; export function writeFileSync(name: string, text: string, options?: {mode: number}): void; }
`;

test("TypeScript's compiler accepts the README's code, and refuses what would fail", {skip: compiler ? false : 'node-typescript is not installed'}, t => {
  const folder = install(t), blocks = [...read('README.md').matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
  assert.ok(blocks.length > 4 && blocks[0].trim().split('\n').length <= 5, 'a first message has at most five lines');
  writeFileSync(join(folder, 'readme.mts'), blocks.join('\n'));
  writeFileSync(join(folder, 'wrong.mts'), WRONG);
  writeFileSync(join(folder, 'node.d.ts'), NODE);
  const {status, stdout} = spawnSync(process.execPath, [
    compiler, '--noEmit', '--strict', '--skipDefaultLibCheck', '--target', 'es2022', '--module', 'node16', '--moduleResolution', 'node16', '--lib', 'es2022,dom', 'readme.mts', 'wrong.mts', 'node.d.ts',
  ], {cwd: folder, encoding: 'utf8'});
  assert.equal(status, 0, stdout);
});
