// A server in memory, for one account, with `fetch` for a client.

import {createHash, createPrivateKey, sign} from 'node:crypto';
import {readFileSync} from 'node:fs';

import {echoOf, signatureBase} from '../sealpost.js';

const folder = process.env.SEALPOST_VECTORS ?? new URL('../../../docs/evidence/vectors', import.meta.url).pathname;
/** The key of the vectors, with which the server signs. */
export const {pinned} = JSON.parse(readFileSync(`${folder}/keys.json`, 'utf8'));
// The key's seed in the form of PKCS #8 (RFC 8410 section 7).
const key = createPrivateKey({key: Buffer.from(`302e020100300506032b657004220420${pinned.seedHex}`, 'hex'), format: 'der', type: 'pkcs8'});

export const [ALICE, MALLORY] = ['YWxpY2Uncy1hY2NvdW50Lg', 'bWFsbG9yeXMtYWNjb3VudA'];

/** The value of `Content-Digest` for a content. */
const digestField = content => `sha-256=:${createHash('sha256').update(content).digest('base64')}:`;

/** The signature fields of an answer. The signature covers the account if there is one. */
export async function signatureFields({method, url, headers}, {status, body, tag, account, nonce, created = Math.floor(Date.now() / 1000)}) {
  const {pathname: path, search} = new URL(url), validator = status === 304 ? tag : digestField(body);
  const parameters = [
    {key: 'created', kind: 'integer', value: created}, {key: 'keyid', kind: 'string', value: pinned.keyid},
    ...(nonce == null ? [] : [{key: 'nonce', kind: 'string', value: nonce}]),
  ];
  const request = {method, path, query: search ? search.slice(1) : null, token: headers.MyToken};
  const base = signatureBase(request, {status, validator, account}, parameters), input = base.slice(base.lastIndexOf(': ') + 2);
  return {
    ...(status === 304 ? {} : {'Content-Digest': validator}),
    'Signature-Input': `sig=${input}`, Signature: `sig=:${sign(null, Buffer.from(base), key).toString('base64')}:`,
  };
}

export class FakeServer {
  items = new Map();
  /** The ids in the order of their changes; a cursor is a position in this list. */
  log = [];
  devices = new Set();
  /** The keys of devices for end-to-end encryption. */
  deviceKeys = new Map();
  tokens = new Set(['spt_first']);
  /** All requests, each as a text such as `GET /api/notifications`. */
  requests = [];
  /** Whether the server refuses changes for now. */
  isBusy = false;
  keys = new Map();
  /**
   * The server calls `before` with each request, and `after` with its answer; an exception acts as
   * a network failure.
   */
  before = () => {};
  after = response => response;
  /**
   * The identifier of its account; null for a server of the previous version. `says` is sent in
   * its place, if set.
   */
  account = ALICE;
  says = null;
  username = 'alice';
  isSigned = false;
  /** How far its clock is ahead, in seconds, and whether it signs the nonces of requests. */
  clockOffset = 0;
  knowsNonces = true;
  /** The key of Web Push. */
  vapid = 'BAA';
  /** Whether its list of devices has that key. */
  showsKey = true;
  /** The prefix of registration ids. */
  prefix = 'device';
  #next = 1;
  #registered = 0;

  post(payload, more = {}) {
    const id = this.#next++;
    this.items.set(id, {Id: id, Payload: payload, Read: false, CreatedAt: '2027-01-15T08:00:00Z', ExpiresAt: '2100-01-16T08:00:00Z', ...more});
    this.log.push(id);
    return id;
  }

  change(id, members) {
    Object.assign(this.items.get(id), members);
    this.log.push(id);
  }

  delete(id) {
    if (this.items.delete(id)) this.log.push(id);
  }

  /** Acts as `fetch`. */
  fetch = async (url, options = {}) => {
    const {pathname, searchParams} = new URL(url), {method = 'GET', headers = {}} = options;
    const request = {method, path: pathname, query: searchParams, headers, signal: options.signal, body: options.body && JSON.parse(options.body)};
    options.signal?.throwIfAborted();
    await this.before(request);
    this.requests.push(`${method} ${pathname}`);
    const [status, body, fields = {}] = this.#answer(request);
    const text = body === undefined ? null : JSON.stringify(body);
    const account = this.account && (this.says ?? (status === 401 || pathname === '/api/enrolment' ? 'none' : this.account));
    if (account !== null) fields['Sealpost-Account'] = account;
    if (this.isSigned) {
      const nonce = this.knowsNonces ? /;nonce="([^"]*)"/.exec(headers['Accept-Signature'])?.[1] : null, created = Math.floor(Date.now() / 1000) + this.clockOffset;
      Object.assign(fields, await signatureFields({method, url, headers}, {status, body: text ?? '', tag: fields.ETag, account, nonce, created}));
    }
    const response = new Response(text, {status, headers: {MyToken: echoOf(headers.MyToken), 'Content-Type': 'application/json', ...fields}});
    return await this.after(response, request) ?? response;
  };

  #answer({method, path, query, headers, body}) {
    const problem = (status, code) => [status, {type: `urn:sealpost:problem:${code}`, title: code, status}];
    if (path === '/api/enrolment' && body.Code !== 'the code') return problem(403, 'enrolment-refused');
    if (method === 'POST' && ['/api/sessions', '/api/enrolment'].includes(path)) {
      const token = `spt_${this.tokens.size}`;
      this.tokens.add(token);
      return [201, {...this.#owner(), Token: token, ExpiresAt: '2100-01-01T00:00:00Z'}];
    }
    const token = headers.Authorization?.replace('Bearer ', '');
    if (!this.tokens.has(token)) return problem(401, 'invalid-token');
    if (this.isBusy && method !== 'GET') return problem(503, 'busy');
    const [, , kind, name, action] = path.split('/');
    if (kind === 'sessions') return method === 'GET' ? [200, this.#owner()] : (this.tokens.delete(token), [204]);
    if (kind === 'users') return body.Current === 'old' ? (this.tokens.clear(), [204]) : problem(403, 'wrong-password');
    if (kind === 'devices' && action === 'key') return this.deviceKeys.set(name, body.Key), [204];
    if (kind === 'devices') return this.devices.has(name) ? action === 'test' ? [200, {Device: name, State: 'failed', Reason: 'gone'}] : [204] : problem(410, 'registration-gone');
    if (kind === 'stream' && !this.devices.has(query.get('device'))) return problem(404, 'not-found');
    if (kind === 'webpush') return [200, {Key: this.vapid}];
    if (kind === 'register') return this.#register(method, name, problem);
    if (method === 'GET' && !name) return this.#list(query, headers, problem);
    if (name === 'read') {
      const read = body.Ids.filter(id => this.items.has(id));
      for (const id of read) this.change(id, {Read: true});
      return [200, {Read: read}];
    }
    if (method === 'POST' && !name) {
      const key = headers['Idempotency-Key'];
      if (!this.keys.has(key)) this.keys.set(key, this.post(typeof body === 'string' ? body : body.Payload));
      return [201, this.items.get(this.keys.get(key))];
    }
    const id = Number(name), item = this.items.get(id);
    if (!item) return problem(404, 'not-found');
    if (action === 'taken' || method === 'DELETE') return this.delete(id), [204];
    if (method === 'PATCH') this.change(id, body);
    const tag = `"${id}-${item.Read}-${item.Title ?? ''}"`;
    return method === 'GET' && headers['If-None-Match'] === tag ? [304, undefined, {ETag: tag}] : [200, item, {ETag: tag}];
  }

  #owner() {
    return this.account ? {Name: this.username, Account: this.account} : {};
  }

  #register(method, name, problem) {
    if (method === 'POST') {
      const id = `${this.prefix}-${this.#registered++}`;
      return this.devices.add(id), [200, id];
    }
    if (method === 'PUT') return this.devices.has(name) ? [200] : problem(410, 'registration-gone');
    if (method === 'DELETE') return this.devices.delete(name), [200];
    return [200, [...this.devices].map(Id => ({Id, App: 'default', Platform: 'webpush', Tags: ['news'], CreatedAt: '2027-01-15T08:00:00Z', LastPush: null, Key: this.deviceKeys.get(Id) ?? null, ...(this.showsKey ? {ServerKey: this.vapid} : {})}))];
  }

  #list(query, headers, problem) {
    if (query.has('ids')) {
      return [200, {Notifications: query.get('ids').split(',').map(id => this.items.get(Number(id))).filter(Boolean), Deleted: [], More: false}];
    }
    const since = query.get('since'), start = since === null ? 0 : Number(since.slice(1));
    if (!(start <= this.log.length)) return problem(400, 'invalid-cursor');
    if (since !== null && start === this.log.length && headers['If-None-Match'] === `"${since}"`) return [304, undefined, {ETag: `"${since}"`}];
    const end = Math.min(this.log.length, start + Number(query.get('limit')));
    const ids = [...new Set(this.log.slice(start, end))];
    return [200, {
      Notifications: ids.filter(id => this.items.has(id)).map(id => this.items.get(id)),
      Deleted: since === null ? [] : ids.filter(id => !this.items.has(id)), Cursor: `c${end}`, More: end < this.log.length,
    }];
  }
}
