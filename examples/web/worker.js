// The page's own worker: Sealpost's, and the page's files for when there is no network.

import {texts} from './sealpost/sealpost-worker.js';

// What a notification shows of the payloads that this app sends.
texts.arrived = (item, settings) => ({body: typeof item.payload === 'string' ? item.payload : item.payload?.text ?? settings.placeholder});

const SHELL = 'shell 1';
const FILES = ['./', 'app.js', 'app.css', 'settings.js', 'icon.svg', 'manifest.webmanifest', 'sealpost/sealpost.js'];

self.addEventListener('install', event => {
  event.waitUntil(caches.open(SHELL).then(cache => cache.addAll(FILES)));
  self.skipWaiting();
});

self.addEventListener('fetch', event => {
  const {request} = event, {origin, pathname} = new URL(request.url);
  const files = FILES.map(file => new URL(file, self.registration.scope).pathname);
  // The API goes to the network, and nowhere else.
  if (request.method !== 'GET' || origin !== location.origin || !files.includes(pathname)) return;
  event.respondWith(serve(request));
});

/** From the network if it answers within three seconds, which also renews what is kept. */
async function serve(request) {
  const cache = await caches.open(SHELL), kept = await cache.match(request, {ignoreSearch: true});
  try {
    const response = await fetch(request, {signal: AbortSignal.timeout(3000)});
    if (response.ok && response.type === 'basic' && !response.redirected) await cache.put(request, response.clone());
    return response.ok || !kept ? response : kept;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}
