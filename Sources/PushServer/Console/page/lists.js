// Lists that come a page at a time.

import {actionButton} from './act.js';
import {h, update} from './dom.js';
import {count, plural} from './words.js';

/**
 * Draws a list into `place`, with a button for more.
 *
 * `load(cursor)` gives `{items, cursor, more}`, and of a search `searched`: among how many the items were found. `draw(items, reload, searched)`
 * gives what to show.
 */
export async function list(place, {load, draw, one, many = `${one}s`, signal}) {
  let items = [], cursor = null, hasMore = false, searched, loads = 0;
  // Whether it was shown: an answer that has come too late is not.
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
      // The render leaves a button alone that is busy, so it comes after.
      if (await add(cursor)) setTimeout(render);
      return null;
    }) : null));
  await reload();
  return {reload, render};
}
