// Tests of the package as an app gets it: its content, and its types with TypeScript's compiler.

import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {webcrypto} from 'node:crypto';
import {test} from 'node:test';

// Debian's Node has it under another name.
globalThis.crypto ??= webcrypto;

const sources = new URL('..', import.meta.url).pathname, read = name => readFileSync(join(sources, name), 'utf8');
const about = JSON.parse(read('package.json'));
/** Debian's node-typescript; `SEALPOST_TSC` names another compiler. */
const compiler = process.env.SEALPOST_TSC ?? ['/usr/share/nodejs/typescript/bin/tsc'].find(existsSync);

/** Skips a test if there is no npm, which is a package of its own in Debian. */
const npm = {skip: spawnSync('npm', ['--version']).status === 0 ? false : 'npm is not installed'};

/** A new app's folder, with the package that npm has packed and installed there. */
function install(t) {
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-package-')), run = (...words) => execFileSync('npm', [...words, '--offline', '--silent', '--cache', '.npm'], {cwd: folder, encoding: 'utf8'});
  t.after(() => rmSync(folder, {recursive: true}));
  writeFileSync(join(folder, 'package.json'), '{"private": true}');
  run('install', `./${run('pack', sources).trim()}`);
  return folder;
}

test('the package has the version of the server, and all that its exports name', () => {
  const version = /current = "([^"]+)"/.exec(readFileSync(join(sources, '../../Sources/PushApplication/Version.swift'), 'utf8'))[1];
  assert.equal(about.version, version);
  for (const {types, default: code} of Object.values(about.exports)) {
    for (const file of [types, code]) assert.ok(about.files.includes(file.slice(2)) && existsSync(join(sources, file)), file);
  }
});

test('an app imports the installed package by its name, which has the modules, their types and nothing else', npm, t => {
  const folder = install(t), files = readdirSync(join(folder, 'node_modules/sealpost')).sort();
  assert.deepEqual(files, ['README.md', 'package.json', 'sealpost-worker.d.ts', 'sealpost-worker.js', 'sealpost.d.ts', 'sealpost.js']);
  writeFileSync(join(folder, 'app.mjs'), "import {PushClient, pushedID} from 'sealpost'; console.log(typeof PushClient.open, pushedID('{\"secureId\":\"7\"}'));");
  assert.equal(execFileSync(process.execPath, ['app.mjs'], {cwd: folder, encoding: 'utf8'}), 'function 7\n');
});

test('the advice has the names and texts of the Swift client', async () => {
  const {ADVICE} = await import('../sealpost.js'), swift = read('../../Sources/PushClient/Errors/Advice.swift');
  const wanted = Object.fromEntries([...swift.matchAll(/case \.(\w+): "(.*)"/g)].map(([, name, text]) => [name, text]));
  // A browser sees no certificate, and only a browser has a push service.
  assert.deepEqual([...Object.keys(ADVICE), 'pin'].sort(), [...Object.keys(wanted), 'pushService'].sort());
  // These texts name the browser, or the certificate.
  for (const name of ['clock', 'storage', 'unavailable', 'pin']) delete wanted[name];
  for (const [name, text] of Object.entries(wanted)) assert.equal(ADVICE[name], text);
});

test('the types have the members of the modules, no more and no fewer', async () => {
  const module = await import('../sealpost.js'), types = read('sealpost.d.ts');
  const body = types.slice(types.indexOf('export class PushClient {'), types.indexOf('/** Whether this page can'));
  const declared = [...body.matchAll(/^ {2}(?:static |get )*([a-zA-Z]+)\(/gm)].map(([, name]) => name).filter(name => name !== 'constructor');
  const {PushClient} = module, own = of => Object.getOwnPropertyNames(of).filter(name => !['constructor', 'length', 'name', 'prototype'].includes(name));
  assert.deepEqual(declared.sort(), [...own(PushClient), ...own(PushClient.prototype)].sort());
  const outbox = types.slice(types.indexOf('export interface Outbox {'), types.indexOf('/** A refusal of'));
  assert.deepEqual([...outbox.matchAll(/^ {2}([a-zA-Z]+)\(/gm)].map(([, name]) => name), Object.keys(new PushClient({name: ''}, null).outbox));
  for (const [, name] of types.matchAll(/^export (?:class|const|function) ([a-zA-Z]+)/gm)) assert.ok(name in module, name);
  const code = read('sealpost.js'), words = (text, pattern) => [...new Set([...text.matchAll(pattern)].map(([, word]) => word))].sort();
  const union = name => words(new RegExp(`type ${name} =[^;]*`).exec(types)[0], /'([a-zA-Z]+)'/g);
  assert.deepEqual(union('Advice'), Object.keys(module.ADVICE).sort());
  assert.deepEqual(union('ErrorCode'), words(code, /new PushClientError\('([a-zA-Z]+)'/g));
  // The kinds of wrong signatures are in a line of their own.
  const ofSignatures = words(/const kind = .*error\.reason.*/.exec(code)[0], /'([a-zA-Z]+)'/g);
  assert.deepEqual(union('InterferenceKind'), [...words(code, /interference\('([a-zA-Z]+)'/g), ...ofSignatures].sort());
});

test('the sample page calls only what the client has, and with a sender key opens no unencrypted payload', async () => {
  const {PushClient} = await import('../sealpost.js'), {outbox} = new PushClient({name: ''}, null), code = read('../../examples/web/app.js');
  const called = [...code.matchAll(/push\.(outbox\.)?(\w+)\(/g)];
  assert.ok(called.length > 10 && called.some(([, isOfOutbox]) => isOfOutbox));
  for (const [call, isOfOutbox, name] of called) assert.ok(name in (isOfOutbox ? outbox : PushClient.prototype), call);
  assert.match(code, /endToEnd = senders\.length > 0 \? {senders, isRequired: true} : null/);
});

/** An app in TypeScript. Each line after `@ts-expect-error` must not compile. */
const APP = `
import {ADVICE, PushClient, PushClientError, isPushAvailable, type Inbox, type NotificationItem} from 'sealpost';

const push = await PushClient.open({
  signatures: {keys: ['key']}, title: 'Clinic', token: '/push-token', page: '/#/messages/{id}',
  observe: ({kind, outcome}) => console.log(kind, outcome), headers: ({route}) => ({traceparent: route}),
  verifier: async (publicKey, message, signature) => publicKey.length + message.length > signature.length,
});
if (push.account === null) await push.signIn('alice', 'password');
const inbox: Inbox = await push.cachedInbox({limit: 20});
const older = await push.cachedInbox({limit: 20, before: inbox.notifications[0]});
const synced: string | undefined = older.syncedAt?.toISOString();
try {
  await push.sync();
  for await (const {arrived, deleted} of push.updates()) console.log(arrived.length, deleted.length, synced);
} catch (error) {
  if (!(error instanceof PushClientError)) throw error;
  console.log(ADVICE[error.advice], error.interference?.kind, error.problem?.code);
}
if (isPushAvailable()) console.log(await push.register({tags: ['news']}), await push.registerIfNeeded());
const {item, failure}: {item: NotificationItem; failure: PushClientError | null} = await push.notification(7);
await push.outbox.markRead([item.id]);
for (const failed of await push.outbox.failures()) if (failed.code === 'payload-too-large') await push.outbox.discard(failed);
for await (const {id} of push.events({signal: new AbortController().signal})) console.log(id, failure?.code);
const devices: string[] = (await push.devices()).map(({id}) => id);
console.log(devices, (await push.testPush()).state);

// @ts-expect-error signatures have no default
await PushClient.open({});
// @ts-expect-error an empty list pins nothing
await PushClient.open({signatures: {keys: []}});
// @ts-expect-error use open
new PushClient();
// @ts-expect-error an id is a number
await push.notification('7');
// @ts-expect-error the cached item may be missing
(await push.cachedNotification(7)).payload;
interface Note { readonly text: string; of?: Note[] }
const notes: readonly Note[] = [{text: 'x'}];
for (const payload of ['x', 5, true, {text: 'x', bind: null}, {}, notes, notes[0]]) await push.outbox.send(payload);
// @ts-expect-error the server refuses null
await push.outbox.send(null);
// @ts-expect-error a function is no JSON value
await push.outbox.send(() => 1);
// @ts-expect-error JSON has no bigint
await push.outbox.send(5n);
// @ts-expect-error it is a task of the outbox
await push.markRead(7);
// @ts-expect-error the time may be missing
inbox.syncedAt.getTime();
`;
const WORKER = `
import {options, texts} from 'sealpost/sealpost-worker.js';

texts.arrived = (item, settings) => ({title: 'Clinic', body: item.payload?.summary ?? settings.placeholder, silent: true});
options.token = async ({account}) => (await fetch('/push-token', {method: 'POST', body: account})).json();
// @ts-expect-error a text is no notification
texts.gone = () => 'gone';
`;

test("TypeScript's compiler accepts an app, and refuses what would fail", {skip: compiler ? npm.skip : 'node-typescript is not installed'}, t => {
  const folder = install(t);
  writeFileSync(join(folder, 'app.mts'), APP);
  writeFileSync(join(folder, 'worker.mts'), WORKER);
  const {status, stdout} = spawnSync(process.execPath, [
    compiler, '--noEmit', '--strict', '--skipDefaultLibCheck', '--target', 'es2022', '--module', 'node16', '--moduleResolution', 'node16', '--lib', 'es2022,dom,dom.iterable',
    'app.mts', 'worker.mts',
  ], {cwd: folder, encoding: 'utf8'});
  assert.equal(status, 0, stdout);
});

test('the TypeScript of docs/frameworks.md compiles against a stub of React Native', {skip: compiler ? false : 'node-typescript is not installed'}, t => {
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-frameworks-'));
  t.after(() => rmSync(folder, {recursive: true}));
  const [, code] = /```ts\n(.*?)```/s.exec(read('../../docs/frameworks.md'));
  writeFileSync(join(folder, 'sealpost.ts'), code);
  writeFileSync(join(folder, 'react-native.d.ts'), `declare module 'react-native' {
    export const NativeModules: {Sealpost: {call(name: string, parts: string[]): Promise<string>}};
  }`);
  const command = [compiler, '--noEmit', '--strict', '--skipDefaultLibCheck', '--target', 'es2022', '--module', 'es2022', 'sealpost.ts', 'react-native.d.ts'];
  const {status, stdout} = spawnSync(process.execPath, command, {cwd: folder, encoding: 'utf8'});
  assert.equal(status, 0, stdout);
});
