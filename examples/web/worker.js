// The page's worker. It extends Sealpost's worker, and caches the page's files for use without a
// network.

import {texts} from './sealpost/sealpost-worker.js';

// The text of a shown notification, for the payloads that this app sends.
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
  // Requests to the API always go to the network.
  if (request.method !== 'GET' || origin !== location.origin || !files.includes(pathname)) return;
  event.respondWith(serve(request));
});

/** Answers from the network and updates the cache. After a failure or three seconds, answers from the cache. */
async function serve(request) {
  const cache = await caches.open(SHELL), cached = await cache.match(request, {ignoreSearch: true});
  try {
    const response = await fetch(request, {signal: AbortSignal.timeout(3000)});
    if (response.ok && response.type === 'basic' && !response.redirected) await cache.put(request, response.clone());
    return response.ok || !cached ? response : cached;
  } catch (error) {
    if (cached) return cached;
    throw error;
  }
}
