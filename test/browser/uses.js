// What a reader does with a page: uses(file) are [what, function] by the name of the file.  The
// functions return what is wrong, as those of inspect.js do.
'use strict';

const USES = {
  dashboard: [
    ['filters rows', filters],
    ['sorts rows', sorts],
    ['is used with keys alone', byKeys],
  ],
};

function uses(file) {
  return USES[file.replace(/[-.].*/, '')] ?? [];
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
  const before = (await column(page, 'runs', 'tps')).map(Number.parseFloat);
  const known = before.filter((tps) => !Number.isNaN(tps)).sort((a, b) => b - a);
  const head = page.locator('section:has(#runs) th:has-text("tps")');
  const faults = [];
  for (const order of ['descending', 'ascending']) {
    await head.getByRole('button').click();
    const sorted = (await column(page, 'runs', 'tps')).map(Number.parseFloat);
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

module.exports = { uses };
