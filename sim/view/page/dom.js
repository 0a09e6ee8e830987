// Elements out of plain values. Text is always text: nothing here parses HTML.

/** h('td', {class: 'num'}, 'text', child): attributes; on* are listeners. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'style') Object.assign(element.style, value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** A titled part of the page; `id` is its anchor. */
export function section(id, title, note, ...children) {
  return h('section', { id, 'aria-label': title },
    h('div', { class: 'head' }, h('h2', {}, title), note ? h('p', { class: 'note' }, note) : null), ...children);
}

/** Columns [{label, title, num, text: row => string, cell: row => Node, class: row => string}] over rows. */
export function table(columns, rows, caption) {
  const cells = (row) => columns.map((c) =>
    h('td', { class: [c.num ? 'num' : '', c.class ? c.class(row) : ''].join(' ').trim() || null }, c.cell ? c.cell(row) : c.text(row)));
  return h('div', { class: 'scroll' }, h('table', {}, caption ? h('caption', {}, caption) : null,
    h('thead', {}, h('tr', {}, columns.map((c) => h('th', { class: c.num ? 'num' : null, title: c.title, scope: 'col' }, c.label)))),
    h('tbody', {}, rows.map((row) => h('tr', {}, cells(row))))));
}

/** A labelled select; options [[value, text]]. */
export function select(label, options, value, change) {
  const list = h('select', { onchange: () => change(list.value) }, options.map(([v, text]) => h('option', { value: v, selected: v === value }, text)));
  return h('label', { class: 'control' }, h('span', {}, label), list);
}

export function swatch(colour) {
  return h('span', { class: 'swatch', style: { background: colour } });
}

const tip = () => document.getElementById('tip');

/** Shows lines [[label, text]] under a title beside the pointer. */
export function showTip(x, y, title, lines) {
  const box = tip();
  box.replaceChildren(...tipContent(title, lines));
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, x + 14 + width > innerWidth ? x - width - 14 : x + 14)}px`;
  box.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - height - 4))}px`;
}
export function hideTip() {
  tip().hidden = true;
}
export function tipContent(title, lines) {
  return [h('b', {}, title), h('dl', {}, lines.map(([label, text, colour]) =>
    [h('dt', {}, colour ? swatch(colour) : null, label), h('dd', {}, text)]))];
}
