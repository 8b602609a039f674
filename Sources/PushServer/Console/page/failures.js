// Failures: the failed pushes of all notifications.

import {form, whyButton} from './act.js';
import {ask, path} from './api.js';
import {VERBATIM, empty, field, h, table} from './dom.js';
import {list} from './lists.js';
import {links, owner} from './notifications.js';
import {ago, count} from './words.js';

export const title = 'Failures';

const PERIODS = [['1h', 'The last hour'], ['24h', 'The last day'], ['7d', 'The last week'], ['', 'Everything']];

export async function show(page) {
  page.heading(title);
  const since = h('select', {}, PERIODS.map(([value, text]) => h('option', {value}, text)));
  const user = h('input', {...VERBATIM, maxlength: 100});
  const place = h('div', {}, h('p.loading', {}, 'Loading…'));
  let reload = () => {};
  page.content.replaceChildren(h('div.find', {}, form({
    fields: h('div.pair', {}, field('Failed in', since), field('User', user, {hint: 'Leave it empty for all users.'})), submit: 'Show', perform: () => reload(),
  })), place);
  ({reload} = await list(place, {
    one: 'failed push', many: 'failed pushes', signal: page.signal,
    load: async cursor => {
      const answer = await ask('GET', path(['deliveries'], {state: 'failed', since: since.value, user: user.value.trim(), cursor}), {signal: page.signal});
      return {items: answer.Deliveries, cursor: answer.Cursor, more: answer.More};
    },
    draw: pushes => pushes.length
      ? table('Failed pushes, the newest first', [['Notification'], ['Device'], ['User'], ['Platform'], ['Attempts', {kind: 'number'}], ['Reason'], ['When'], ['Action', {kind: 'action'}]],
        pushes.map((push, index) => ({key: `${push.Notification} ${push.Device ?? index}`, cells: [
          links(String(push.Notification)), ...owner(push), count(push.Attempts), h('span.mono.wrap', {}, push.Reason ?? '—'), ago(push.UpdatedAt),
          push.Device ? whyButton(push.Device, `the push to device ${push.Device.slice(0, 8)}`, push.Notification) : '',
        ]})))
      : empty('No push has failed', 'A push that its provider refuses for good appears here until its notification expires.'),
  }));
}
