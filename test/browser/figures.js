// Compares what charts draw with the tables behind them: positions become values again, by the
// ticks of the axes.  The functions return what is wrong, as those of inspect.js do.
'use strict';

// In the page: the charts that have a table, as positions in pixels and the table's texts.
function readCharts() {
  const number = (element, name) => Number.parseFloat(element.getAttribute(name));
  const ends = (path) => [...path.getAttribute('d').matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
  const ticks = (svg, kind, place) =>
    [...svg.querySelectorAll(`:scope > text.tick.${kind}`)].map((tick) => [place(tick), tick.textContent]);
  return [...document.querySelectorAll('figure > svg.chart')].flatMap((svg) => {
    const table = svg.parentNode.nextElementSibling?.querySelector('table');
    if (!table) return [];
    const inner = [...svg.querySelectorAll(':scope > svg')].find((part) => part.querySelector('path.line, path.area:not(.span)'));
    const circles = [...svg.querySelectorAll('circle.dot')];
    return [{
      name: svg.querySelector('title').textContent,
      isTime: svg.dataset.from !== undefined && svg.dataset.scale === undefined,
      from: Number(svg.dataset.from),
      to: Number(svg.dataset.to),
      top: inner ? number(inner, 'y') : 0,
      lines: inner ? [...inner.querySelectorAll('path.line')].map(ends) : [],
      areas: inner ? [...inner.querySelectorAll('path.area')].map(ends) : [],
      // Percent across, pixels down, color.
      circles: circles.map((circle) => [number(circle, 'cx'), number(circle, 'cy'), circle.parentNode.getAttribute('class')]),
      left: ticks(svg, 'left', (tick) => number(tick, 'y') - 3.5),
      bottom: ticks(svg, 'bottom', (tick) => number(tick, 'x')),
      isLog: [...svg.querySelectorAll('text.unit')].some((unit) => /log scale/.test(unit.textContent)),
      heads: [...table.tHead.rows[0].cells].map((cell) => cell.textContent),
      rows: [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)),
    }];
  });
}

const SUFFIX = { '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };

function valueOf(text) {
  const [, digits, suffix] = /^(-?[\d,.]+)([kMGT]?)$/.exec(text) ?? [];
  return digits === undefined ? Number.NaN : Number(digits.replaceAll(',', '')) * SUFFIX[suffix];
}

// From a position to a value, by the first and the last tick of an axis.
function axis(ticks, isLog) {
  // On a log axis, 0 has a place of its own below the others.
  const isOnAxis = (value) => !Number.isNaN(value) && !(isLog && value === 0);
  const known = ticks.map(([at, text]) => [at, valueOf(text)]).filter(([, value]) => isOnAxis(value));
  const [[a, low], [b, high]] = [known[0], known[known.length - 1]];
  const along = (at) => (at - a) / (b - a);
  return isLog ? (at) => low * (high / low) ** along(at) : (at) => low + (high - low) * along(at);
}

// The factor by which values differ from what is drawn of them, by the highest pair: a power of 1000, or
// of 1024 for bytes, or percent.
function unitOf(pairs) {
  const [drawn, told] = pairs.reduce((most, pair) => (pair[0] > most[0] ? pair : most), [0, 0]);
  if (!(drawn > 0 && told > 0)) return 1;
  const powers = [1000, 1024].flatMap((base) => [-2, -1, 0, 1, 2, 3, 4].map((power) => base ** power));
  const units = [...powers, 0.01];
  const off = (unit) => Math.abs(Math.log(told / drawn / unit));
  return units.reduce((best, unit) => (off(unit) < off(best) ? unit : best));
}

// Pairs of [drawn, told] must differ by the same factor: the unit of the axis has it.  A
// position is as exact as a tenth of a pixel, a text as its digits.
function sameFigures(what, pairs, step, isLog, ratio = unitOf(pairs)) {
  return pairs.flatMap(([drawn, told]) => {
    const exact = isLog ? 0.02 * Math.abs(told) : 2 * step * ratio + 0.002 * Math.abs(told);
    return Math.abs(drawn * ratio - told) <= exact ? [] : [`figures: ${what}: ${drawn * ratio} is drawn, ${told} is in the table`];
  });
}

function overTime(chart) {
  const faults = [];
  const value = axis(chart.left, chart.isLog);
  const height = (y) => value(chart.top + y);
  // What a tenth of a pixel is worth.
  const step = chart.isLog ? 0 : Math.abs(height(0) - height(0.1));
  const seconds = (x) => chart.from + (x / 1000) * (chart.to - chart.from);
  const times = chart.rows.map((row) => Number(row[0]));
  const nearest = (at) => times.reduce((best, time, i) => (Math.abs(time - at) < Math.abs(times[best] - at) ? i : best), 0);
  const columns = chart.heads.flatMap((head, i) => (i === 0 || /, (low|high)$/.test(head) ? [] : [i]));
  const isStack = chart.areas.length > 0;
  const series = isStack ? chart.areas : chart.lines;
  if (series.length !== columns.length) return [`figures: ${chart.name}: ${series.length} series are drawn, ${columns.length} in the table`];
  const compared = series.map((points, i) => {
    // The upper end of an area comes first: the sum of its series and those below it.
    const drawn = isStack ? points.slice(0, points.length / 2) : points;
    const pairs = [];
    const found = new Set();
    for (const [x, y] of drawn) {
      const row = nearest(seconds(x));
      const texts = isStack ? columns.slice(0, i + 1).map((column) => chart.rows[row][column]) : [chart.rows[row][columns[i]]];
      const told = texts.map((text) => (text === '-' ? 0 : valueOf(text))).reduce((sum, one) => sum + one);
      found.add(row);
      pairs.push([height(y), told]);
    }
    const expected = chart.rows.filter((row) => isStack || row[columns[i]] !== '-').length;
    if (found.size !== expected) faults.push(`figures: ${chart.name}: ${found.size} points are drawn, ${expected} in the table`);
    return isLogZero(pairs, chart);
  });
  // The table has the unit of the axis.
  compared.forEach((pairs, i) => {
    faults.push(...sameFigures(`${chart.name}: ${chart.heads[columns[i]]}`, pairs, step, chart.isLog, 1));
  });
  return faults;
}

// On a log axis, what is not above its lower end is drawn there.
function isLogZero(pairs, chart) {
  if (!chart.isLog) return pairs;
  const lowest = Math.min(...pairs.map(([drawn]) => drawn));
  return pairs.filter(([drawn, told]) => told > 0 && drawn > lowest * 1.001);
}

// Points of sets: where each was measured, and its value.
function overSet(chart) {
  const across = axis(chart.bottom, false);
  const at = (name) => chart.heads.findIndex((head) => head === name);
  const column = (row, i) => valueOf(row[i]);
  const differ = (what, drawn, told, step) =>
    drawn.length === told.length
      ? sameFigures(`${chart.name}: ${what}`, drawn.map((value, i) => [value, told[i]]), step, false)
      : [`figures: ${chart.name}: ${drawn.length} points are drawn, ${told.length} in the table`];
  const x = chart.circles.map(([cx]) => across(cx));
  if (at('arm') === 0) {
    // Arms, which are below each other.
    const told = chart.rows.map((row) => column(row, at('tps'))).filter((tps) => !Number.isNaN(tps));
    return differ('tps', x, told, Math.abs(across(0) - across(0.01)));
  }
  const up = axis(chart.left, false);
  const step = Math.abs(up(0) - up(0.1));
  const y = chart.circles.map(([, cy]) => up(cy));
  if (at('run id') === 0) {
    // Probes of a search: those that passed, and those that failed. Of some of these, the percentile is beyond the axis.
    const [rate, percentile] = [at('rate'), chart.heads.findIndex((head) => /^p[\d.]+ ms$/.test(head))];
    const known = (value) => (Number.isNaN(value) ? Infinity : value);
    const order = (a, b) => column(a, rate) - column(b, rate) || known(column(a, percentile)) - known(column(b, percentile)) || 0;
    return ['passed', 'failed'].flatMap((probe, i) => {
      const rows = chart.rows.filter((row) => row[at('probe')] === probe).sort(order);
      const drawn = (values) => values.filter((_, j) => chart.circles[j][2] === `s${i}`);
      const isOnAxis = rows.map((row) => !Number.isNaN(column(row, percentile)));
      return [
        ...differ(`rate, ${probe}`, drawn(x), rows.map((row) => column(row, rate)), 0.01),
        ...differ(`percentile, ${probe}`, drawn(y).filter((_, j) => isOnAxis[j]),
          rows.filter((_, j) => isOnAxis[j]).map((row) => column(row, percentile)), step),
      ];
    });
  }
  // Points of sweeps, in the order of the series.
  const names = [...new Set(chart.rows.map((row) => row[0]))];
  const rows = names.flatMap((name) => chart.rows.filter((row) => row[0] === name).sort((a, b) => column(a, 1) - column(b, 1)));
  return [
    ...differ('place', x, rows.map((row) => column(row, 1)), 0.01),
    ...differ('value', y, rows.map((row) => column(row, 2)), step),
  ];
}

// All charts of a page that have a table, at least `least` of them.
function figures(least) {
  return async (page) => {
    const charts = await page.evaluate(readCharts);
    // Lines and areas over time, and points of sets.
    const drawn = charts.filter(
      (chart) => chart.circles.length > 0 || (chart.isTime && chart.lines.length + chart.areas.length > 0),
    );
    const faults = drawn.flatMap((chart) => (chart.isTime ? overTime(chart) : overSet(chart)));
    return drawn.length >= least ? faults : [`figures: ${drawn.length} charts with tables, not ${least}`, ...faults];
  };
}

module.exports = { figures };
