// Small plots of the last hour, as SVG, each with its summary in words.

import {h, s} from './dom.js';
import {count, minuteTime} from './words.js';

const WIDTH = 240, HEIGHT = 64;

/**
 * The history by the minute: sums of counts, or the last values if `isLevel`; null while the server
 * was not running.
 */
export function byMinute(values, seconds, isLevel) {
  const size = Math.max(1, Math.round(60 / seconds));
  const minutes = [];
  // The loop begins at the end, so that the last minute is whole.
  for (let end = values.length; end > 0; end -= size) {
    const known = values.slice(Math.max(0, end - size), end).filter(value => value !== null);
    minutes.unshift(known.length === 0 ? null : isLevel ? known.at(-1) : known.reduce((sum, value) => sum + value, 0));
  }
  return minutes;
}

const total = values => values.reduce((sum, value) => sum + (value ?? 0), 0);

/**
 * A card with a number and its history.
 *
 * `series` has one or two `{name, values, tone}`; the second is drawn on top of the first. With
 * `isLevel` the last value counts instead of the sum.
 */
export function plotCard({title, series, end, isLevel, note}) {
  const [main, second] = series;
  const minutes = main.values.length;
  const stacked = main.values.map((value, index) => value === null ? null : value + (second?.values[index] ?? 0));
  const most = Math.max(0, ...stacked.map(value => value ?? 0));
  const peak = stacked.lastIndexOf(most);
  const last = stacked.at(-1) ?? 0;
  const time = index => minuteTime(new Date(end - (minutes - 1 - index) * 60_000));
  const figure = isLevel ? last : total(main.values);
  const usual = most === 0 ? 'none in the last hour'
    : isLevel ? `most: ${count(most)} at ${time(peak)}` : `most in a minute: ${count(most)} at ${time(peak)}`;
  const summary = isLevel
    ? `${title}: ${count(last)} now, ${usual}.`
    : `${title} in the last hour: ${series.map(one => `${count(total(one.values))} ${one.name}`).join(', ')}; ${usual}; ${count(last)} in the last minute.`;
  return h('section.card.plot', {'data-key': title, 'aria-label': title},
    h('div.plot-head', {},
      h('h3', {}, title),
      second && total(second.values) > 0 ? h(`span.badge.${second.tone}`, {}, `${count(total(second.values))} ${second.name}`) : null),
    h('p.figure', {}, count(figure), h('span.unit', {}, note)),
    draw(series, stacked, most, isLevel, summary, time),
    h('p.small.readout', {'data-usual': usual, 'aria-hidden': 'true'}, usual));
}

function draw(series, stacked, most, isLevel, summary, time) {
  const [main, second] = series;
  const step = WIDTH / stacked.length;
  const top = most || 1;
  const y = value => HEIGHT - 2 - (value / top) * (HEIGHT - 8);
  const shapes = gaps(stacked).map(([from, to]) => s('rect.gap', {x: from * step, y: 0, width: (to - from) * step, height: HEIGHT}));
  if (isLevel) {
    for (const [from, to] of runs(stacked)) {
      const points = stacked.slice(from, to).map((value, index) => `${((from + index + 0.5) * step).toFixed(1)},${y(value).toFixed(1)}`);
      const start = ((from + 0.5) * step).toFixed(1), end = ((to - 0.5) * step).toFixed(1);
      shapes.push(s(`path.area.${main.tone}`, {d: `M${start},${HEIGHT} L${points.join(' L')} L${end},${HEIGHT}Z`}));
      shapes.push(s(`polyline.line.${main.tone}`, {points: points.join(' ')}));
    }
  } else {
    stacked.forEach((sum, index) => {
      const lower = main.values[index] ?? 0, upper = second?.values[index] ?? 0;
      const bar = {x: (index * step + 0.5).toFixed(2), width: (step - 1).toFixed(2)};
      // Each value stays visible, however small it is.
      const height = value => Math.max(1.5, HEIGHT - 2 - y(value));
      if (lower) shapes.push(s(`rect.bar-one.${main.tone}`, {...bar, y: (HEIGHT - 2 - height(lower)).toFixed(2), height: height(lower).toFixed(2)}));
      if (upper) {
        const base = lower ? HEIGHT - 2 - height(lower) : HEIGHT - 2;
        shapes.push(s(`rect.bar-one.${second.tone}`, {...bar, y: (base - height(upper)).toFixed(2), height: height(upper).toFixed(2)}));
      }
    });
  }
  const read = event => {
    const plot = event.currentTarget, box = plot.getBoundingClientRect();
    const index = Math.min(stacked.length - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * stacked.length)));
    const cursor = plot.querySelector('.cursor');
    cursor.setAttribute('x', index * step);
    cursor.setAttribute('visibility', 'visible');
    const texts = series.map(one => `${count(one.values[index] ?? 0)} ${one.name}`).join(', ');
    plot.parentElement.querySelector('.readout').textContent = `${time(index)}: ${stacked[index] === null ? 'not running' : texts}`;
  };
  const leave = event => {
    event.currentTarget.querySelector('.cursor').setAttribute('visibility', 'hidden');
    const readout = event.currentTarget.parentElement.querySelector('.readout');
    readout.textContent = readout.dataset.usual;
  };
  return s('svg.chart', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': summary,
    onpointermove: read, onpointerdown: read, onpointerleave: leave,
  }, shapes, s('line.base', {x1: 0, x2: WIDTH, y1: HEIGHT - 1, y2: HEIGHT - 1}),
  s('rect.cursor', {x: 0, y: 0, width: step, height: HEIGHT, visibility: 'hidden'}));
}

const gaps = values => stretches(values, value => value === null);
const runs = values => stretches(values, value => value !== null);

/** The ranges of values that meet a condition: pairs of the first index and the index after the last. */
function stretches(values, holds) {
  const found = [];
  values.forEach((value, index) => {
    if (!holds(value)) return;
    if (found.at(-1)?.[1] === index) found.at(-1)[1] = index + 1;
    else found.push([index, index + 1]);
  });
  return found;
}
