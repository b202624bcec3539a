// What a reader does with a page: uses(file) are [what, function] by the name of the file.  The
// functions return what is wrong, as those of inspect.js do.
'use strict';

function uses(_file) {
  return [];
}

module.exports = { uses };
