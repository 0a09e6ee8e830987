// ECharts with only what the page draws, and one look for all.
import { BarChart, CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { DataZoomInsideComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { h } from './dom.js';
import { ground, isPrinting, onRedraw } from './theme.js';

use([BarChart, CustomChart, LineChart, ScatterChart, DataZoomInsideComponent, GridComponent, LegendComponent,
  MarkLineComponent, TooltipComponent, CanvasRenderer]);

const paperWidth = 980; // px that a printed page takes

/** A chart of `build()`'s option, drawn anew for each theme, width and print. `height` may be a function. */
export function chart({ height, label, build, ready }) {
  const box = h('div', { class: 'chart', role: 'img', 'aria-label': label });
  const size = () => (typeof height === 'function' ? height() : height);
  let drawn = null;
  const draw = () => {
    box.style.height = `${size()}px`;
    if (!drawn) {
      drawn = init(box, null, { renderer: 'canvas' });
      if (ready) ready(drawn);
    }
    drawn.resize(isPrinting() ? { width: Math.min(paperWidth, box.clientWidth || paperWidth), height: size() } : { width: 'auto', height: size() });
    drawn.setOption({ ...frame(), ...build() }, true);
    if (isPrinting()) drawn.getZr().flush();
  };
  new ResizeObserver(() => {
    if (!drawn) return draw();
    if (!isPrinting() && box.clientWidth !== drawn.getWidth()) drawn.resize();
  }).observe(box);
  onRedraw(draw);
  return { box, draw };
}

function frame() {
  const g = ground();
  return {
    animation: false,
    textStyle: { color: g.ink, fontFamily: 'system-ui, sans-serif' },
    tooltip: tooltip(),
  };
}
export function tooltip(extra = {}) {
  const g = ground();
  return {
    confine: true, transitionDuration: 0, backgroundColor: g.panel, borderColor: g.line, padding: [6, 10], className: 'tip',
    textStyle: { color: g.ink, fontSize: 12 }, ...extra,
  };
}
export function axis(extra = {}) {
  const g = ground();
  const { axisLabel, ...rest } = extra;
  return {
    axisLine: { lineStyle: { color: g.line } },
    axisTick: { lineStyle: { color: g.line } },
    splitLine: { lineStyle: { color: g.grid } },
    nameTextStyle: { color: g.muted },
    axisLabel: { color: g.muted, fontSize: 11, ...axisLabel },
    ...rest,
  };
}
export function legend(extra = {}) {
  const g = ground();
  return { top: 0, left: 0, itemWidth: 12, itemHeight: 12, itemGap: 14, textStyle: { color: g.ink, fontSize: 12 }, inactiveColor: g.muted, ...extra };
}
/** Black or white, whichever is read on `colour`. */
export function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? '#111' : '#fff';
}
