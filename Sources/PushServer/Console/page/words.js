// Numbers and times in English words, in local time.

import {h} from './dom.js';

const number = new Intl.NumberFormat('en');
const clock = new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit', second: '2-digit'});
const minute = new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit'});
const day = new Intl.DateTimeFormat('en-GB', {day: 'numeric', month: 'short', year: 'numeric'});
const full = new Intl.DateTimeFormat('en-GB', {dateStyle: 'full', timeStyle: 'long'});

export const count = value => number.format(Math.round(value));
export const plural = (value, one, many = `${one}s`) => `${count(value)} ${Math.round(value) === 1 ? one : many}`;
export const clockTime = date => clock.format(date);
export const minuteTime = date => minute.format(date);

/** 90 is "1 min 30 s"; two units at most. */
export function span(seconds) {
  const total = Math.max(0, Math.round(seconds));
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const first = parts.findIndex(([size]) => total >= size);
  if (first < 0) return '0 s';
  const [size, unit] = parts[first];
  const next = parts[first + 1];
  const remaining = next ? Math.floor((total % size) / next[0]) : 0;
  return `${Math.floor(total / size)} ${unit}${remaining ? ` ${remaining} ${next[1]}` : ''}`;
}

/** A time relative to now, in one unit, with "ago" or "in". */
export function relative(date, now = Date.now()) {
  const seconds = (date - now) / 1000;
  const size = Math.abs(seconds);
  if (size < 5) return 'now';
  const [unit, per] = size < 90 ? ['s', 1] : size < 5400 ? ['min', 60] : size < 129600 ? ['h', 3600] : ['days', 86400];
  const text = `${Math.round(size / per)} ${unit}`;
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

const isRecent = date => Math.abs(date - Date.now()) < 36 * 3600 * 1000;

/** The time from or until now, or the day if it is far off; the title has the exact time. */
export function ago(text, absent = '—') {
  if (!text) return absent;
  const date = new Date(text);
  return h('time', {datetime: text, title: full.format(date), 'data-relative': isRecent(date)}, isRecent(date) ? relative(date) : day.format(date));
}

/** The exact local time. */
export function at(text, absent = '—') {
  if (!text) return absent;
  const date = new Date(text);
  const isToday = day.format(date) === day.format(Date.now());
  return h('time', {datetime: text, title: full.format(date)}, `${isToday ? '' : `${day.format(date)}, `}${clockTime(date)}`);
}

/** The local day. */
export function onDay(text) {
  return h('time', {datetime: text, title: full.format(new Date(text))}, day.format(new Date(text)));
}

setInterval(() => {
  if (document.hidden) return;
  for (const element of document.querySelectorAll('time[data-relative]')) {
    const words = relative(new Date(element.dateTime));
    if (element.textContent !== words) element.textContent = words;
  }
}, 5000);

const PLATFORMS = {
  apns: 'Apple (APNs)', fcm: 'Google (FCM)', wns: 'Windows (WNS)', webpush: 'Browser (Web Push)', stream: 'Event stream',
  webhook: 'Webhook',
};
export const platformName = platform => PLATFORMS[platform] ?? platform ?? '—';
