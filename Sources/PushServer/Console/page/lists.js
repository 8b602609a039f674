// Lists that come a page at a time.

import {actionButton} from './act.js';
import {h, update} from './dom.js';
import {count, plural} from './words.js';

/**
 * Draws a list into `place`, with a button for more.
 *
 * `load(cursor)` returns `{items, cursor, more}`, and for a search `searched`, the number of searched
 * items. `draw(items, reload, searched)` returns the elements to show.
 */
export async function list(place, {load, draw, one, many = `${one}s`, signal}) {
  let items = [], cursor = null, hasMore = false, searched, loads = 0;
  // Returns whether to show the items: `false` if the answer came too late.
  const add = async from => {
    loads += 1;
    const mine = loads, next = await load(from);
    if (signal.aborted || mine !== loads) return false;
    items = from ? [...items, ...next.items] : next.items;
    searched = next.searched === undefined ? undefined : next.searched + (from ? searched : 0);
    ({cursor, more: hasMore} = next);
    return true;
  };
  const reload = async () => {
    if (await add(null)) render();
  };
  const render = () => update(place, draw(items, reload, searched), h('div.row.foot', {'data-key': 'foot'},
    h('p.small', {role: 'status'}, searched === undefined
      ? `${plural(items.length, one, many)} shown${hasMore ? ', there are more' : ''}`
      : `${plural(items.length, one, many)} found among ${count(searched)}${hasMore ? '; there are older ones' : ', which are all'}`),
    hasMore ? actionButton(searched === undefined ? 'Show more' : 'Go on searching', async () => {
      // A render skips busy buttons, so it runs after this action.
      if (await add(cursor)) setTimeout(render);
      return null;
    }) : null));
  await reload();
  return {reload, render};
}
