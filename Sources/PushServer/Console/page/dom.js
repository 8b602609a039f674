// Builds elements, and updates the page's elements without losing focus or scroll position.

const SVG = 'http://www.w3.org/2000/svg';
// These are set as properties, since an attribute holds only the initial value.
const PROPERTIES = new Set(['value', 'checked', 'open']);

function dispatch(event) {
  event.currentTarget.handlers?.[event.type]?.(event);
}

function listen(element, handlers) {
  const known = element.handlers ?? {};
  element.handlers = {...handlers};
  // One listener for each type looks the handler up, so that `morph` can replace handlers.
  element.listening ??= new Set(Object.keys(known));
  for (const type of Object.keys(handlers)) {
    if (element.listening.has(type)) continue;
    element.listening.add(type);
    element.addEventListener(type, dispatch);
  }
}

function build(element, classes, attributes, children) {
  if (classes.length) element.setAttribute('class', classes.join(' '));
  const handlers = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') handlers[name.slice(2)] = value;
    else if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  listen(element, handlers);
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element: `h('button.primary', {onclick: act}, 'Save')`. Absent attributes and children are left out. */
export function h(kind, attributes = {}, ...children) {
  const [name, ...classes] = kind.split('.');
  return build(document.createElement(name), classes, attributes, children);
}

/** An SVG element, with the parameters of `h`. */
export function s(kind, attributes = {}, ...children) {
  const [name, ...classes] = kind.split('.');
  return build(document.createElementNS(SVG, name), classes, attributes, children);
}

const keyOf = node => node.dataset?.key;
const isAlike = (old, fresh) => old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);

/** Updates the children of `parent` to match newly built ones. */
export function update(parent, ...fresh) {
  const holder = document.createDocumentFragment();
  holder.append(...fresh.flat(Infinity).filter(Boolean));
  morphChildren(parent, holder);
}

function morphChildren(old, fresh) {
  const keyed = new Map([...old.childNodes].filter(keyOf).map(node => [keyOf(node), node]));
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const known = keyOf(child) ? keyed.get(keyOf(child)) : null;
    if (known && known !== place) old.insertBefore(known, place);
    else if (place && isAlike(place, child)) place = place.nextSibling;
    else if (!known) {
      old.insertBefore(child, place);
      continue;
    }
    morph(known ?? (place ? place.previousSibling : old.lastChild), child);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function morph(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  // The button's action is running or must wait; the end of the action updates the button.
  if (old.getAttribute('aria-disabled') === 'true') return;
  for (const {name} of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
  }
  for (const {name, value} of fresh.attributes) {
    if (old.getAttribute(name) === value) continue;
    // The content security policy allows styles as properties only.
    if (name === 'style') old.style.cssText = value;
    else old.setAttribute(name, value);
  }
  listen(old, fresh.handlers ?? {});
  morphChildren(old, fresh);
}

/** A table with a caption. A column is `[title, {kind}]`, a row `{key, cells}` or an element. */
export function table(caption, columns, rows) {
  // The roles keep the meaning where style sheets turn rows into cards.
  const head = columns.map(([title, {kind} = {}]) =>
    h(`th${kind ? `.${kind}` : ''}`, {scope: 'col', role: 'columnheader'}, kind === 'action' ? h('span.unseen', {}, title) : title));
  const body = rows.map(row => row instanceof Node ? row : h('tr', {role: 'row', 'data-key': row.key},
    row.cells.map((cell, index) => {
      const [title, {kind} = {}] = columns[index];
      // On small screens, where rows are cards, the style sheet hides empty cells.
      const name = (kind ? `.${kind}` : '') + (cell === '—' || cell === '0' || cell === '' ? '.none' : '');
      return index === 0
        ? h(`th${name}`, {scope: 'row', role: 'rowheader', 'data-label': title}, cell)
        : h(`td${name}`, {role: 'cell', 'data-label': title}, cell);
    })));
  return h('div.sheet', {},
    h('table', {role: 'table'},
      h('caption.unseen', {}, caption),
      h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, head)),
      h('tbody', {role: 'rowgroup'}, body)));
}

/** The attributes of a field for names, which a keyboard must not correct. */
export const VERBATIM = {type: 'text', autocapitalize: 'off', autocomplete: 'off', spellcheck: 'false'};

/** A labelled field. `options.hint` stands below it; `labelled` is the control if other things are beside it. */
let fields = 0;
export function field(label, control, options = {}, labelled = control) {
  fields += 1;
  const id = `field-${fields}`;
  labelled.id = id;
  if (options.hint) labelled.setAttribute('aria-describedby', `${id}-hint`);
  return h('div.field', {},
    h('label', {for: id}, label),
    control,
    options.hint ? h('p.hint', {id: `${id}-hint`}, options.hint) : null);
}

export function badge(text, tone = 'plain') {
  return h(`span.badge.${tone}`, {}, text);
}

/** The text in place of an empty list. */
export function empty(title, text, ...rest) {
  return h('div.empty', {}, h('p.empty-title', {}, title), h('p', {}, text), rest);
}
