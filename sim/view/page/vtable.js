// A table of many rows of which only those in sight exist. Rows are indices; columns say what their cells hold.
import { h } from './dom.js';

const rowHeight = 24, beyond = 8, printed = 60;

/** columns: [{key, label, title, num, width, text: row => string}]; order: indices in the order shown. */
export class VirtualTable {
  constructor({ choose, sort }) {
    this.choose = choose;
    this.sort = sort;
    this.columns = [];
    this.order = [];
    this.chosen = -1;
    this.head = h('tr', {});
    this.body = h('tbody', {});
    this.grid = h('table', { class: 'layouts' }, h('thead', {}, this.head), this.body);
    this.box = h('div', { class: 'virtual', tabindex: '0', 'aria-label': 'Layouts. Up and down arrows choose a row.' }, this.grid);
    this.top = 0; // as last seen: to ask for it while typing lays the page out anew
    this.height = 0;
    this.box.addEventListener('scroll', () => { this.top = this.box.scrollTop; this.draw(); });
    this.box.addEventListener('keydown', (event) => this.key(event));
    this.body.addEventListener('click', (event) => {
      const row = event.target.closest('tr[data-row]');
      if (row) this.choose(Number(row.dataset.row));
    });
    new ResizeObserver(() => { this.height = this.box.clientHeight; this.draw(); }).observe(this.box);
    this.drawn = '';
  }

  setColumns(columns, sorted) {
    this.columns = columns;
    this.head.replaceChildren(...columns.map((c) => h('th', {
      class: c.num ? 'num' : null, scope: 'col', title: c.title,
      'aria-sort': sorted.key === c.key ? (sorted.down ? 'descending' : 'ascending') : 'none', style: { width: `${c.width}px` },
    }, h('button', { type: 'button', onclick: () => this.sort(c.key) }, c.label, h('span', { class: 'arrow' }, sorted.key === c.key ? (sorted.down ? ' ▼' : ' ▲') : '')))));
    this.grid.style.width = `${columns.reduce((sum, c) => sum + c.width, 0)}px`;
    this.drawn = '';
  }

  /** Shows rows from the first on. */
  setOrder(order) {
    this.order = order;
    this.drawn = '';
    if (this.top > 0) this.box.scrollTop = this.top = 0;
    this.draw();
  }

  /** Marks a row and brings it in sight. */
  setChosen(row) {
    this.chosen = row;
    this.drawn = '';
    const at = this.order.indexOf(row), top = at * rowHeight, sight = this.height - rowHeight - 4;
    if (at >= 0 && (top < this.top || top + rowHeight > this.top + sight)) {
      this.top = Math.max(0, Math.round(top - sight / 2));
      this.draw(); // before scrolling, so that the table is long enough
      this.box.scrollTop = this.top;
    }
    this.draw();
  }

  draw() {
    if (!this.height) return;
    const first = Math.max(0, Math.min(this.order.length, Math.floor(this.top / rowHeight)) - beyond);
    const last = Math.min(this.order.length, Math.ceil((this.top + this.height) / rowHeight) + beyond);
    const now = `${first}-${last}`;
    if (now === this.drawn) return;
    this.drawn = now;
    this.fill(first, last);
  }

  fill(first, last) {
    const filler = (rows) => h('tr', { class: 'filler', 'aria-hidden': 'true' }, h('td', { colspan: this.columns.length, style: { height: `${rows * rowHeight}px` } }));
    const rows = [];
    if (first > 0) rows.push(filler(first));
    for (let i = first; i < last; ++i) rows.push(this.row(this.order[i]));
    if (last < this.order.length) rows.push(filler(this.order.length - last));
    this.body.replaceChildren(...rows);
  }

  row(row) {
    return h('tr', { 'data-row': row, class: row === this.chosen ? 'chosen' : null, 'aria-selected': row === this.chosen ? 'true' : null },
      this.columns.map((c) => h('td', { class: c.num ? 'num' : null }, c.text(row))));
  }

  /** On paper the first rows stand alone. */
  print(on) {
    this.drawn = '';
    if (on) this.fill(0, Math.min(printed, this.order.length));
    else this.draw();
    if (on) this.body.querySelectorAll('.filler').forEach((row) => row.remove());
  }

  key(event) {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity }[event.key];
    if (!by || event.target !== this.box || !this.order.length) return;
    event.preventDefault();
    const at = Math.max(0, Math.min(this.order.length - 1, Math.max(-1, this.order.indexOf(this.chosen)) + by));
    this.choose(this.order[at]);
  }
}
export const printedRows = printed;
