// Lists that come a page at a time.

import {actionButton} from './act.js';
import {h, update} from './dom.js';
import {plural} from './words.js';

/**
 * Draws a list into `place`, with a button for more.
 *
 * `load(cursor)` gives `{items, cursor, more}`, `draw(items, reload)` what to show.
 */
export async function list(place, {load, draw, one, many = `${one}s`, signal}) {
  let items = [], cursor = null, hasMore = false;
  const reload = async () => {
    const first = await load(null);
    if (signal.aborted) return;
    ({items, cursor, more: hasMore} = first);
    render();
  };
  const render = () => update(place, draw(items, reload), h('div.row.foot', {'data-key': 'foot'},
    h('p.small', {role: 'status'}, `${plural(items.length, one, many)} shown${hasMore ? ', there are more' : ''}`),
    hasMore ? actionButton('Show more', async () => {
      const next = await load(cursor);
      if (signal.aborted) return null;
      items = [...items, ...next.items];
      ({cursor, more: hasMore} = next);
      // The render leaves a button alone that is busy, so it comes after.
      setTimeout(render);
      return null;
    }) : null));
  await reload();
  return {reload, render};
}
