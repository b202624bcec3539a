// Filters the rows of the tables of class "list" by words, and sorts them by a column.
'use strict';
(() => {
  const lists = [...document.querySelectorAll('table.list')].map((table) => ({
    head: table.tHead.rows[0],
    body: table.tBodies[0],
    rows: [...table.tBodies[0].rows].map((row) => ({
      row,
      text: [...row.cells].map((cell) => cell.textContent).join(' ').toLowerCase(),
    })),
  }));

  // Filter.  All words must occur; one that begins with "-" must not.
  const form = document.querySelector('form.filter');
  const input = document.getElementById('words');
  const found = document.getElementById('found');
  const all = lists.reduce((sum, { rows }) => sum + rows.length, 0);

  function filter() {
    const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== '' && word !== '-');
    const fits = (text) =>
      words.every((word) => (word[0] === '-' ? !text.includes(word.slice(1)) : text.includes(word)));
    let shown = 0;
    for (const { rows } of lists) {
      for (const { row, text } of rows) {
        row.hidden = !fits(text);
        shown += row.hidden ? 0 : 1;
      }
    }
    found.textContent = words.length > 0 ? `${shown} of ${all} rows` : '';
  }

  form.addEventListener('submit', (event) => event.preventDefault());
  input.addEventListener('input', filter);
  form.hidden = all === 0;
  // A browser may have kept what was typed.
  filter();

  // Sort.  Values that are missing come last in both directions.
  function value(row, column, isNumber) {
    const text = row.cells[column].textContent.trim();
    if (!isNumber) return text === '-' ? null : text;
    const number = Number.parseFloat(text.replaceAll(',', ''));
    return Number.isNaN(number) ? null : number;
  }

  const texts = new Intl.Collator('en', { numeric: true });

  function compare(a, b, sign) {
    if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
    return sign * (typeof a === 'number' ? a - b : texts.compare(a, b));
  }

  function sort({ head, body, rows }, column) {
    const cell = head.cells[column];
    const isNumber = cell.classList.contains('number');
    // Numbers begin with the highest, texts with the first.
    const [first, second] = isNumber ? ['descending', 'ascending'] : ['ascending', 'descending'];
    const order = cell.getAttribute('aria-sort') === first ? second : first;
    for (const other of head.cells) other.removeAttribute('aria-sort');
    cell.setAttribute('aria-sort', order);
    const sign = order === 'ascending' ? 1 : -1;
    const keyed = rows.map(({ row }) => ({ row, key: value(row, column, isNumber) }));
    keyed.sort((a, b) => compare(a.key, b.key, sign));
    body.append(...keyed.map(({ row }) => row));
  }

  for (const list of lists) {
    [...list.head.cells].forEach((cell, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...cell.childNodes);
      button.addEventListener('click', () => sort(list, column));
      cell.append(button);
    });
  }
})();
