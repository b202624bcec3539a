// What a reader does with a page: uses(file) are [what, function] by the name of the file.  The
// functions return what is wrong, as those of inspect.js do.
'use strict';

const { figures } = require('./figures.js');

const LIST = [
  ['shows all columns', allColumns],
  ['filters rows', filters],
  ['sorts rows', sorts],
  ['is used with keys alone', byKeys],
];
// With how many charts at least have tables.
const drawn = (least) => ['draws the figures of its tables', figures(least)];
// With how many charts at least tell values.
const hover = (least) => ['tells the values at the pointer', hovers(least)];
const TIME = ['reads charts together, and shows a part of the time', zooms];
const STAYS = ['keeps the contents and the heads of tables in view', stays];
const GRAPH = [
  ['searches functions', searches],
  ['folds the flame graph', folds],
  ['inverts the flame graph', inverts],
  ['folds and searches it with keys alone', graphByKeys],
];

const USES = {
  dashboard: LIST,
  // Reports in it are as those that stand alone.
  'dashboard-inline': [...LIST, ['leads from runs to reports and back', leads], drawn(12), ...[hover(24), ...GRAPH].map(([what, look]) => [what, unfolded(look)])],
  'report-whole': [drawn(6), hover(9), TIME, STAYS, ...GRAPH],
  'report-day': [drawn(5), hover(7)],
  'report-interval': [drawn(2), hover(4)],
  'report-canceled': [drawn(4)],
  'report-failures': [drawn(1)],
  'report-scripts': [drawn(2)],
  'report-standby': [drawn(4), hover(7)],
  'standby-report': [drawn(6), hover(9)],
  'standby-dashboard': [...LIST, drawn(5)],
  'standby-set': [drawn(1)],
  'set-compare': [drawn(1)],
  'set-sweep': [drawn(1)],
  'set-capacity': [drawn(1)],
  'set-all': [drawn(3)],
};

function uses(file) {
  return USES[file.replace(/\.html$/, '')] ?? [];
}

function differs(what, got, expected) {
  const [a, b] = [got, expected].map((value) => JSON.stringify(value));
  return a === b ? [] : [`use: ${what}: ${a} instead of ${b}`];
}

// The texts of a column of the rows that are shown, by the name in its head.
function column(page, id, name) {
  return page.evaluate(
    ([id, name]) => {
      const table = document.getElementById(id).closest('section').querySelector('table');
      const at = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === name);
      const shown = [...table.tBodies[0].rows].filter((row) => row.getClientRects().length > 0);
      return shown.map((row) => row.cells[at].textContent);
    },
    [id, name],
  );
}

// No column of a table of the dashboard is cut.
async function allColumns(page) {
  const lists = await page.evaluate(() =>
    [...document.querySelectorAll('.scroll:has(> .list)')].map((list) => [list.ariaLabel, list.scrollWidth <= list.clientWidth]),
  );
  return [...differs('lists', lists.length > 2, true), ...lists.filter(([, fits]) => !fits).map(([name]) => `use: ${name} is cut`)];
}

// The number of a run unfolds its report, which leads to the row of its label; the list of contents stays.
async function leads(page) {
  const within = (selector) => page.evaluate((selector) => {
        const { top, bottom } = document.querySelector(selector).getBoundingClientRect();
    const { height } = document.querySelector('.contents').getBoundingClientRect();
    return top >= (selector === '.contents' ? 0 : height) && bottom <= window.innerHeight;
  }, selector);
  const target = (link) => link.getAttribute('href');
  const run = page.locator('section:has(#runs) td a').last();
  const report = await target(run);
  await run.click();
  const unfolded = await page.evaluate((id) => document.querySelector(id).closest('details').open, report);
  const label = page.locator(`${report} a[href^="#label-"]`);
  const row = await target(label);
  const seen = [await within(report), await within('.contents')];
  await label.click();
  seen.push(await within(row));
  const name = await page.locator(`${row} td`).first().textContent();
  await page.evaluate(() => { document.querySelectorAll('details').forEach((details) => { details.open = false; }); window.scrollTo(0, 0); });
  return [...differs('the report is unfolded', unfolded, true), ...differs('what is in view', seen, [true, true, true]), ...differs('the label', `Label ${name}`, await label.textContent())];
}

async function stays(page) {
  const tops = await page.evaluate(() => {
    const contents = document.querySelector('.contents');
    const long = [...document.querySelectorAll('details:has(.scroll)')].map((details) => {
      details.open = true;
      return details.querySelector('.scroll');
    }).find((box) => box.scrollHeight > box.clientHeight + 200);
    long.scrollIntoView();
    long.scrollTop = 200;
    return [contents.getBoundingClientRect().top, long.querySelector('thead th').getBoundingClientRect().top - long.getBoundingClientRect().top];
  });
  await page.evaluate(() => { document.querySelectorAll('details').forEach((details) => { details.open = false; }); window.scrollTo(0, 0); });
  return differs('places of what stays', tops.map((top) => Math.abs(top) < 3), [true, true]);
}

async function filters(page) {
  const all = await column(page, 'runs', 'Label');
  const nightly = all.filter((label) => label === 'nightly');
  await page.fill('#words', 'NIGHTLY finished');
  const found = await column(page, 'runs', 'Label');
  const told = await page.textContent('#found');
  await page.fill('#words', '-nightly');
  const others = await column(page, 'runs', 'Label');
  await page.fill('#words', 'no such row');
  const none = await column(page, 'runs', 'Label');
  await page.fill('#words', '');
  const cleared = await column(page, 'runs', 'Label');
  return [
    ...(nightly.length > 1 && nightly.length < all.length ? [] : ['use: no runs to filter']),
    ...differs('the filtered runs', found, nightly),
    ...(/^\d+ of \d+ rows$/.test(told) ? [] : [`use: told ${told}`]),
    ...differs('the others', others, all.filter((label) => label !== 'nightly')),
    ...differs('no row', none, []),
    ...differs('all rows again', cleared, all),
  ];
}

async function sorts(page) {
  const before = (await column(page, 'runs', 'tps')).map((text) => Number.parseFloat(text.replaceAll(',', '')));
  const known = before.filter((tps) => !Number.isNaN(tps)).sort((a, b) => b - a);
  const head = page.locator('section:has(#runs) th:has-text("tps")');
  const faults = [];
  for (const order of ['descending', 'ascending']) {
    await head.getByRole('button').click();
    const sorted = (await column(page, 'runs', 'tps')).map((text) => Number.parseFloat(text.replaceAll(',', '')));
    faults.push(
      ...differs('rows', sorted.length, before.length),
      ...differs(order, sorted.slice(0, known.length), order === 'descending' ? known : [...known].reverse()),
      ...differs('what assistive technology is told', await head.getAttribute('aria-sort'), order),
    );
  }
  await page.locator('section:has(#runs) th:has-text("Label")').getByRole('button').click();
  return [...faults, ...differs('columns with an order', await page.locator('section:has(#runs) th[aria-sort]').count(), 1)];
}

async function byKeys(page) {
  await page.keyboard.press('Tab');
  const first = await page.evaluate(() => document.activeElement.id);
  await page.keyboard.type('nightly');
  const found = new Set(await column(page, 'runs', 'Label'));
  const reached = new Set();
  for (let i = 0; i < 60; i += 1) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement.localName));
  }
  return [
    ...differs('the first element', first, 'words'),
    ...differs('the rows', [...found], ['nightly']),
    ...['button', 'div'].filter((name) => !reached.has(name)).map((name) => `use: no ${name} is reached by Tab`),
  ];
}

// With everything shown that is folded at first.
function unfolded(look) {
  return async (page, options) => {
    await page.evaluate(() => document.querySelectorAll('details').forEach((details) => { details.open = true; }));
    return look(page, options);
  };
}

// In the page: where the pointer is on the value of a row of a chart's table, and what is to be told
// there; part is from 0, the first row, to 1, the last one.
function placeOf(svg, part) {
  const table = svg.parentNode.nextElementSibling?.querySelector('table');
  const { scale, ...ends } = svg.dataset;
  const { from, to, left, right, low, high, top, bottom } = Object.fromEntries(Object.entries(ends).map(([name, value]) => [name, Number(value)]));
  const nines = (percentile) => -Math.log10(1 - percentile / 100);
  const along = (of, value, begin, end) => (of(value) - of(begin)) / (of(end) - of(begin));
  const heads = [...(table?.tHead.rows[0].cells ?? [])].map((cell) => cell.textContent);
  // The highest value is beyond all nines.
  const rows = [...(table?.tBodies[0].rows ?? [])].filter((row) => scale !== 'nines' || Number(row.cells[0].textContent) < 100);
  if (rows.length === 0) return null;
  const row = rows[Math.round(part * (rows.length - 1))];
  const value = (at) => Number(row.cells[at].textContent);
  const ranges = heads.indexOf('from ms');
  const middle = () => Math.sqrt(value(ranges) * value(ranges + 1));
  const x = along({ log: Math.log, nines }[scale] ?? Number, ranges === 0 ? middle() : value(0), from, to);
  svg.scrollIntoView({ block: 'center' });
  const box = svg.getBoundingClientRect();
  return {
    x: box.left + (left + x * (right - left)) * box.width,
    y: box.top + (low === undefined ? box.height / 2 : bottom - along(Math.log, middle(), low, high) * (bottom - top)),
    says: [...row.cells].map((cell, at) => `${heads[at]}: ${cell.textContent}`).join('\n'),
  };
}

// The pointer on the first, a middle and the last value of each chart that has a table.
function hovers(least) {
  return async (page) => {
    const faults = [];
    const charts = page.locator('figure > svg.chart[data-from]');
    let told = 0;
    for (let i = 0; i < (await charts.count()); i += 1) {
      const chart = charts.nth(i);
      for (const part of [0, 0.5, 1]) {
        const place = await chart.evaluate(placeOf, part);
        if (place === null) continue;
        await page.mouse.move(place.x, place.y);
        const tip = await page.evaluate(() => {
          const tip = document.querySelector('.tip');
          const box = tip.getBoundingClientRect();
          const isInside = box.left >= 0 && box.top >= 0 && box.right <= window.innerWidth && box.bottom <= window.innerHeight;
          return { says: tip.hidden ? 'nothing' : tip.textContent, isInside };
        });
        told += part === 0 ? 1 : 0;
        faults.push(...differs('values', tip.says, place.says), ...differs('values are in the window', tip.isInside, true));
      }
    }
    // Where a heat map is empty, it has no value.
    const maps = page.locator('figure > svg[data-low]');
    for (let i = 0; i < (await maps.count()); i += 1) {
      const above = await maps.nth(i).evaluate((svg) => {
        svg.scrollIntoView({ block: 'center' });
        const box = svg.getBoundingClientRect();
        return { x: box.left + box.width / 2, y: box.top + Number(svg.dataset.top) - 2 };
      });
      await page.mouse.move(above.x, above.y);
      faults.push(...differs('no values above a heat map', await page.locator('.tip').isVisible(), false));
    }
    await page.mouse.move(0, 0);
    faults.push(...differs('no values beside a chart', await page.locator('.tip').isVisible(), false));
    return told >= least ? faults : [`use: values of ${told} charts, not ${least}`, ...faults];
  };
}

// The parts of the time that charts show, and whether they have a crosshair.
function times(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll('figure > svg[data-unit]')].map((svg) => ({
      part: svg.querySelector(':scope > svg').getAttribute('viewBox').split(' ').filter((_, i) => i % 2 === 0).map((x) => Math.round(Number(x))).join(' '),
      crossed: svg.querySelector('.cross').style.display !== 'none',
    })),
  );
}

// One crosshair and one part of the time in all charts, chosen with the pointer, by keys, and by the address.
async function zooms(page) {
  const faults = [];
  const all = (what, state, part, crossed = false) => {
    faults.push(...differs(what, [...new Set(state.map((chart) => `${chart.part} ${chart.crossed}`))], [`${part} ${crossed}`]));
  };
  const chart = page.locator('figure > svg[data-unit]').first();
  await chart.scrollIntoViewIfNeeded();
  const { left, right } = await chart.evaluate((svg) => ({ left: Number(svg.dataset.left), right: Number(svg.dataset.right) }));
  const box = await chart.boundingBox();
  const at = (part) => box.x + (left + part * (right - left)) * box.width;
  const y = box.y + box.height / 2;
  const count = (await times(page)).length;
  if (count < 5) faults.push(`use: ${count} charts over time`);
  all('at first', await times(page), '0 1000');
  await page.mouse.move(at(0.5), y);
  all('the pointer on one chart', await times(page), '0 1000', true);
  const values = await page.locator('.values:visible').count();
  if (values < 3) faults.push(`use: values of ${values} other charts`);
  await page.mouse.move(at(0.25), y);
  await page.mouse.down();
  await page.mouse.move(at(0.6), y);
  await page.mouse.move(at(0.75), y);
  await page.mouse.up();
  await page.mouse.move(0, 0);
  const near = (state) => state.map((chart) => ({ ...chart, part: chart.part.split(' ').map((x) => Math.round(x / 50) * 50).join(' ') }));
  all('after dragging', near(await times(page)), '250 500');
  const ticks = await page.evaluate(() => document.querySelectorAll('svg.zoomed > .tick.new').length);
  if (ticks < 2 * count) faults.push(`use: ${ticks} ticks of a part`);
  const address = await page.evaluate(() => window.location.hash);
  if (!/^#t=[\d.]+-[\d.]+$/.test(address)) faults.push(`use: address ${address}`);
  const shown = await times(page);
  await page.getByRole('button', { name: 'Whole run' }).click();
  all('the whole run', await times(page), '0 1000');
  faults.push(...differs('address of the whole', await page.evaluate(() => window.location.hash), ''));
  await page.evaluate((hash) => { window.location.hash = hash; }, address);
  await page.waitForFunction(() => document.querySelector('svg.zoomed'));
  faults.push(...differs('what an address shows', near(await times(page)), near(shown)));
  for (const [name, part] of [['Whole run', '0 1000'], ['Zoom in', '250 500'], ['Later', '500 500'], ['Earlier', '250 500'], ['Zoom out', '0 1000']]) {
    await page.getByRole('button', { name, exact: true }).focus();
    await page.keyboard.press('Enter');
    all(`${name} by a key`, await times(page), part);
  }
  await page.getByLabel('Moment whose values are shown').focus();
  await page.keyboard.press('PageUp');
  all('a moment by a key', await times(page), '0 1000', true);
  await page.evaluate(() => document.activeElement.blur());
  return faults;
}

// The frames of the flame graph: name, place in percent, whether they are shown and marked.
function frames(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll('g.flame svg.frame')].map((frame) => ({
      name: frame.querySelector('title').textContent.toLowerCase(),
      x: Number.parseFloat(frame.getAttribute('x')),
      width: Number.parseFloat(frame.getAttribute('width')),
      y: Number.parseFloat(frame.getAttribute('y')),
      shown: frame.getClientRects().length > 0,
      found: frame.classList.contains('found'),
    })),
  );
}

async function searches(page) {
  const search = page.getByLabel('Search functions');
  const before = await frames(page);
  // The name of the frame on the root, without its samples.
  const word = before[1].name.replace(/, .*/, '');
  await search.fill(word.toUpperCase());
  const after = await frames(page);
  const marked = after.filter(({ found }) => found).length;
  const expected = before.filter(({ name }) => name.includes(word)).length;
  const told = await page.locator('.tools output').textContent();
  await search.fill('');
  const cleared = (await frames(page)).filter(({ found }) => found).length;
  return [
    ...(before.length > 10 && expected > 0 ? [] : ['use: no frames']),
    ...differs('marked frames', marked, expected),
    ...differs('how many are told', Number.parseInt(told, 10), expected),
    ...differs('the share that is told', told.trim().split(', ')[1], `${covered(before.filter(({ name }) => name.includes(word))).toFixed(1)} %`),
    ...differs('marked frames after all', cleared, 0),
  ];
}

// The part of the graph that frames cover, in percent.
function covered(frames) {
  const ends = frames.map(({ x, width }) => [x, x + width]).sort((a, b) => a[0] - b[0]);
  return ends.reduce(({ sum, end }, [from, to]) => ({ sum: sum + Math.max(0, to - Math.max(from, end)), end: Math.max(end, to) }), { sum: 0, end: 0 }).sum;
}

// Samples of a frame, by its title.
function samplesOf({ name }) {
  return Number(/, ([\d,]+) samples?, /.exec(name)[1].replaceAll(',', ''));
}

// Inverted, the first row has the samples of the functions themselves, and the graph is as before the second time.
async function inverts(page) {
  const before = await frames(page);
  const button = page.getByRole('button', { name: 'Inverted' });
  await button.click();
  const after = await frames(page);
  await button.click();
  const row = Math.min(...before.map(({ y }, i) => (i > 0 && y !== before[0].y ? before[0].y - y : 1e9)));
  const own = new Map();
  before.slice(1).forEach((frame) => {
    const called = before.filter(({ x, width, y }) => Math.abs(frame.y - row - y) < 1 && x + width / 2 > frame.x && x + width / 2 < frame.x + frame.width);
    const samples = samplesOf(frame) - called.reduce((sum, other) => sum + samplesOf(other), 0);
    const name = frame.name.replace(/, [\d,]+ samples?, .*$/, '');
    own.set(name, (own.get(name) ?? 0) + samples);
  });
  const least = 0.002 * samplesOf(before[0]);
  const expected = [...own].filter(([, samples]) => samples >= least).map(([name, samples]) => `${name} ${samples}`);
  const first = after.filter(({ y }) => Math.abs(y - after[0].y - row) < 1);
  return [
    ...(expected.length > 3 ? [] : ['use: no functions']),
    ...differs('the first row', first.map((frame) => `${frame.name.replace(/, [\d,]+ samples?, .*$/, '')} ${samplesOf(frame)}`).sort(), expected.sort()),
    ...differs('all frames again', await frames(page), before),
  ];
}

// The widest frame that is not as wide as the graph.
function partOf(all) {
  return all.reduce((best, { width }, i) => (width < 99 && width > (all[best]?.width ?? 0) ? i : best), -1);
}

// What differs from the graph before with one of its frames as wide as the graph.
function foldedTo(before, part, after) {
  const { x, width, y } = before[part];
  // Those below it and those above it, in the coordinates of before.
  const isBelow = (frame) => frame.y >= y && frame.x <= x + 1e-6 && frame.x + frame.width >= x + width - 1e-6;
  const isAbove = (frame) => frame.y <= y && frame.x >= x - 1e-6 && frame.x + frame.width <= x + width + 1e-6;
  const expected = before.map((frame) => isBelow(frame) || isAbove(frame));
  const wide = after.filter((frame, i) => isBelow(before[i]));
  const placed = before.every((frame, i) => !isAbove(frame) || Math.abs(after[i].width - (100 * frame.width) / width) < 0.01);
  return [
    ...differs('shown frames', after.map(({ shown }) => shown), expected),
    ...differs('frames that are as wide as the graph', wide.filter((frame) => frame.x === 0 && frame.width === 100).length, wide.length),
    ...differs('others are as much wider', placed, true),
  ];
}

async function folds(page) {
  const before = await frames(page);
  const part = partOf(before);
  await page.locator('g.flame svg.frame').nth(part).click();
  const after = await frames(page);
  await page.getByRole('button', { name: 'Show all' }).click();
  return [
    ...(part > 0 ? [] : ['use: no part of the graph']),
    ...foldedTo(before, part, after),
    ...differs('all frames again', await frames(page), before),
  ];
}

// What has the focus: the number of a frame or else the name of an element; whether that is seen.
function focused(page) {
  return page.evaluate(() => {
    const element = document.activeElement;
    const all = [...document.querySelectorAll('g.flame svg.frame')];
    const at = all.indexOf(element);
    const box = element.getBoundingClientRect();
    const rect = at < 0 ? null : getComputedStyle(element.querySelector('rect'));
    const other = at < 0 ? null : getComputedStyle(all[at === 0 ? 1 : 0].querySelector('rect'));
    return {
      on: at >= 0 ? at : element.textContent || element.labels?.[0]?.textContent.trim() || element.localName,
      isSeen: element.matches(':focus-visible')
        && box.bottom > 0 && box.top < window.innerHeight
        && (rect ? rect.stroke !== other.stroke && Number.parseFloat(rect.strokeWidth) >= 2
          : Number.parseFloat(getComputedStyle(element).outlineWidth) >= 2),
      reached: all.filter((frame) => frame.getAttribute('tabindex') === '0').map((frame) => all.indexOf(frame)),
      pressed: all.filter((frame) => frame.getAttribute('aria-pressed') === 'true').map((frame) => all.indexOf(frame)),
    };
  });
}

// The frame that an arrow key goes to from another: of those that are shown, the widest in the row above or
// below, or the next in the same row.
function arrow(all, from, key) {
  const of = all[from];
  const rows = [...new Set(all.map(({ y }) => y))].sort((a, b) => b - a);
  const row = rows[rows.indexOf(of.y) + ({ ArrowUp: 1, ArrowDown: -1 }[key] ?? 0)];
  const others = all.map((frame, i) => ({ ...frame, i })).filter(({ i, y, shown }) => i !== from && shown && y === row);
  const over = others.filter(({ x, width }) => x < of.x + of.width - 1e-6 && of.x < x + width - 1e-6);
  const [first] = {
    ArrowUp: over.sort((a, b) => b.width - a.width),
    ArrowDown: over,
    ArrowLeft: others.filter(({ x }) => x < of.x).sort((a, b) => b.x - a.x),
    ArrowRight: others.filter(({ x }) => x > of.x).sort((a, b) => a.x - b.x),
  }[key];
  return first?.i ?? from;
}

async function graphByKeys(page) {
  const faults = [];
  const press = (key) => page.keyboard.press(key);
  const before = await frames(page);
  // Also, that the focus is seen, and that Tab reaches no other frame.
  const isOn = async (what, expected) => {
    const { on, isSeen, reached } = await focused(page);
    faults.push(...differs(`the focus ${what}`, on, expected), ...differs(`the focus is seen ${what}`, isSeen, true));
    if (typeof expected === 'number') faults.push(...differs(`frames that Tab reaches ${what}`, reached, [expected]));
  };

  for (let i = 0; i < 500 && (await focused(page)).on !== 'Search functions'; i += 1) await press('Tab');
  await isOn('by Tab', 'Search functions');
  const word = before[1].name.replace(/, .*/, '');
  await page.keyboard.type(word);
  const marked = (await frames(page)).map(({ found }) => found);
  faults.push(...differs('marked frames', marked, before.map(({ name }) => name.includes(word))));

  await press('Tab');
  await isOn('after the field', 'Show all');
  await press('Tab');
  await isOn('in the graph', 0);

  // Walks up to a part of the graph, to both sides, and back.
  let at = 0;
  const visited = new Set();
  const go = async (key) => {
    const all = await frames(page);
    const next = arrow(all, at, key);
    await press(key);
    if (next !== at) visited.add(key);
    at = next;
    await isOn(`after ${key}`, at);
  };
  for (let i = 0; i < 20 && (visited.size < 4 || before[at].width > 99); i += 1) {
    for (const key of ['ArrowUp', 'ArrowRight', 'ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown']) await go(key);
  }
  faults.push(...differs('keys that went to another frame', [...visited].sort(), ['ArrowDown', 'ArrowLeft', 'ArrowRight', 'ArrowUp']));

  for (const key of ['Enter', 'Space']) {
    await press(key);
    const { pressed } = await focused(page);
    faults.push(...foldedTo(before, at, await frames(page)), ...differs(`frames pressed by ${key}`, pressed, [at]));
    await isOn(`after ${key}`, at);
    // Only to frames that are shown.
    await go('ArrowUp');
    await go('ArrowRight');
    await go('ArrowDown');
    await press('Escape');
    const { pressed: none } = await focused(page);
    const clear = (await frames(page)).map((frame) => ({ ...frame, found: false }));
    faults.push(...differs('all frames after Escape', clear, before), ...differs('frames pressed after Escape', none, []));
    await isOn('after Escape', at);
  }

  // The graph is one stop, which is kept; before it is the button.
  await press('Enter');
  await press('Shift+Tab');
  await isOn('before the graph', 'Show all');
  await press('Enter');
  faults.push(...differs('frames after the button', (await frames(page)).map(({ x, width, shown }) => [x, width, shown]),
    before.map(({ x, width, shown }) => [x, width, shown])));
  await press('Tab');
  await isOn('in the graph again', at);
  await press('Tab');
  faults.push(...differs('a focus after the graph', typeof (await focused(page)).on, 'string'));
  return [...(before.length > 10 ? [] : ['use: no frames']), ...faults];
}

module.exports = { unfolded, uses };
