// Requests to the server, and the session of the page.

/** The session of the signed-in user, or null. Only this variable holds the page token. */
export let session = null;

/** Whether the user may change what the console shows. A viewer only sees it. */
export const canManage = () => session?.Role === 'admin' && session.Scopes.includes('manage');

let onEnd = () => {};
/** Calls `action` when the server has ended the session, or no longer knows it. */
export function whenSessionEnds(action) {
  onEnd = action;
}

/** An error in an answer, or a missing answer. */
export class Problem extends Error {
  constructor(title, options = {}) {
    super(title);
    Object.assign(this, {title, detail: '', status: 0, code: '', request: '', retryAfter: 0}, options);
  }

  /** Whether a later retry may succeed. */
  get isTemporary() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

const OFFLINE = 'The server cannot be reached';

/** Sends a request, and returns the answer's JSON. Throws a `Problem`; a 401 also ends the session. */
export async function ask(method, path, {body, signal, authorization, timeoutSeconds = 20} = {}) {
  const headers = {Accept: 'application/json'};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  // The field is sent without a session, too: the server then knows that the page asks, and the
  // browser shows no password dialog.
  headers['Page-Token'] = session?.PageToken ?? 'new';
  if (authorization) headers.Authorization = authorization;
  const asked = session;
  const timeout = AbortSignal.timeout(timeoutSeconds * 1000);
  let response, text;
  try {
    response = await fetch(path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store', redirect: 'error',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    const detail = timeout.aborted ? `It did not answer within ${timeoutSeconds} seconds.` : 'Check the network, and whether the server is running.';
    throw new Problem(OFFLINE, {detail});
  }
  if (response.ok) return read(text, response);
  const problem = problemOf(response, text);
  if (response.status === 401 && asked && asked === session && !authorization) {
    session = null;
    onEnd();
  }
  throw problem;
}

function read(text, response) {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem('The answer is not from Sealpost', {detail: 'It is not JSON: a proxy or the network may have sent it.', request: requestOf(response)});
  }
}

const requestOf = response => response.headers.get('X-Request-Id') ?? '';

function problemOf(response, text) {
  let body = {};
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy or the network has answered, so only the status is known.
  }
  const wait = response.headers.get('Retry-After') ?? '';
  const seconds = /^\d+$/.test(wait) ? Number(wait) : Math.max(0, (Date.parse(wait) - Date.now()) / 1000) || 0;
  return new Problem(body.title || `The server answered with status ${response.status}`, {
    detail: body.detail ?? '', status: response.status, code: body.code ?? (body.type ?? '').split(':').at(-1),
    request: requestOf(response) || body.instance || '', retryAfter: Math.ceil(seconds),
  });
}

/** Begins a session with a name and a password. */
export async function signIn(name, password) {
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  const authorization = `Basic ${btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''))}`;
  session = await ask('POST', '/api/sessions', {body: {Cookie: true}, authorization});
}

/** Makes the first administrator with the code of the printed link, and signs in. */
export async function setUp(code, name, password) {
  await ask('POST', '/api/setup', {body: {Code: code, Name: name, Password: password}});
  await signIn(name, password);
}

/** Continues the session of the cookie, for example after a reload. Returns whether there is one. */
export async function resume() {
  try {
    session = await ask('GET', '/api/sessions/current');
    return true;
  } catch (problem) {
    if (problem.status === 401 || problem.status === 404) return false;
    throw problem;
  }
}

export async function signOut() {
  await ask('DELETE', '/api/sessions/current');
  session = null;
}

/** A path with its parts encoded, and a query without its empty members. */
export function path(parts, query = {}) {
  const members = Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined);
  const text = new URLSearchParams(members).toString();
  return `/api/${parts.map(encodeURIComponent).join('/')}${text ? `?${text}` : ''}`;
}
