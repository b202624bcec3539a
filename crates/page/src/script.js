"use strict";
(function () {
  // Values of charts: the row of the figures' table that is at the pointer, or nearest to it.
  var tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.appendChild(tip);
  var scales = {
    linear: Number,
    log: Math.log,
    nines: function (percentile) { return -Math.log10(1 - Math.min(percentile, 99.99999) / 100); }
  };
  // From a value to its place between two others, from 0 to 1.
  function along(scale, from, to) {
    var of = scales[scale], begin = of(from), end = of(to);
    return function (value) { return (of(value) - begin) / (end - begin); };
  }
  // From a place in a chart to a row of its table. The first columns are where a row is: a value or a range
  // across, or a value across and a range up.
  function finder(data, heads, rows) {
    var across = along(data.scale || "linear", data.from, data.to), up = data.low && along("log", data.low, data.high);
    var ranges = heads.indexOf("from ms");
    var places = rows.map(function (row) {
      var values = Array.from(row.cells, function (cell) { return Number(cell.textContent.replace(/,/g, "")); });
      var place = { row: row, left: across(values[0]), right: across(values[ranges === 0 ? 1 : 0]) };
      if (up) { place.low = up(values[ranges]); place.high = up(values[ranges + 1]); }
      return place;
    });
    // Half of a column of places.
    var half = places.reduce(function (least, place, i) {
      var step = i ? place.left - places[i - 1].left : 0;
      return step > 0 ? Math.min(least, step / 2) : least;
    }, 1);
    return function (x, y) {
      var best = null, least = Infinity;
      places.forEach(function (place) {
        var away = Math.max(place.left - x, x - place.right, 0);
        if (up && (away > half || y < place.low || y > place.high)) return;
        if (away < least) { least = away; best = place.row; }
      });
      return best;
    };
  }
  // Charts over the same time are read together: one crosshair with the values of all of them, and one part of the
  // time, which is in the address.
  var groups = [];
  function element(name, properties) { return Object.assign(document.createElement(name), properties); }
  function percent(at, data) { return 100 * (+data.left + at * (data.right - data.left)) + "%"; }
  function number(value, step) {
    var digits = Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
    return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }
  function drawn(chart, name, attributes) {
    var made = document.createElementNS(chart.svg.namespaceURI, name);
    Object.keys(attributes).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    return chart.svg.appendChild(made);
  }
  function parts(chart) { return Array.from(chart.svg.children).filter(function (part) { return part.localName === "svg"; }); }
  // Shows a part of the time, by its ends.
  function show(group, from, to) {
    var whole = group.whole, length = whole.to - whole.from, least = length / 1000;
    from = Math.max(whole.from, Math.min(from, whole.to - least));
    to = Math.min(whole.to, Math.max(to, from + least));
    group.from = (from - whole.from) / length;
    group.to = (to - whole.from) / length;
    var isWhole = group.from < 1e-6 && group.to > 1 - 1e-6, power = Math.pow(10, Math.floor(Math.log10((to - from) / 5)));
    var step = power * [1, 2, 5, 10].find(function (n) { return n * power >= (to - from) / 5.0001; });
    group.charts.forEach(function (chart) {
      var data = chart.svg.dataset, inside = function (at) { return (at - group.from) / (group.to - group.from); };
      chart.svg.classList.toggle("zoomed", !isWhole);
      chart.svg.querySelectorAll(":scope > .new").forEach(function (old) { old.remove(); });
      parts(chart).forEach(function (part) {
        var height = part.getAttribute("viewBox").split(" ")[3];
        part.setAttribute("viewBox", [1000 * group.from, 0, 1000 * (group.to - group.from), height].join(" "));
      });
      chart.labels.forEach(function (label) {
        var at = inside(label.at);
        label.text.setAttribute("x", percent(at, data));
        label.text.style.display = at < 0.05 || at > 0.95 ? "none" : "";
      });
      for (var i = Math.ceil(from / step - 1e-9); !isWhole && i * step <= to + step * 1e-9; i += 1) {
        var x = percent((i * step - from) / (to - from), data), y = chart.bottom;
        drawn(chart, "line", { "class": "axis new", x1: x, x2: x, y1: y, y2: y + 4 });
        drawn(chart, "text", { "class": "tick bottom new", x: x, y: y + 16 }).textContent = number(i * step, step);
      }
    });
    group.told.textContent = " " + number(from, step / 10) + " to " + number(to, step / 10) + " " + group.unit + " ";
    group.ends = [from, to];
    cross(group, null);
  }
  function choose(group, from, to) {
    show(group, from, to);
    var rounded = group.ends.map(function (end) { return Number(end.toPrecision(6)); }).join("-");
    var isWhole = group.from < 1e-6 && group.to > 1 - 1e-6, no = groups.indexOf(group);
    history.replaceState(null, "", "#" + (isWhole ? "" : "t=" + rounded + (no ? "," + no : "")));
  }
  // A crosshair at a place of what is shown, with the values in all charts but the one that is pointed at.
  function cross(group, at, pointed) {
    group.charts.forEach(function (chart) {
      var data = chart.svg.dataset;
      chart.line.style.display = at === null ? "none" : "";
      var row = at === null || chart.svg === pointed || data.low || !chart.box() ? null : chart.find(group.from + at * (group.to - group.from));
      if (chart.values) chart.values.hidden = !row;
      if (at === null) return;
      chart.line.setAttribute("x1", percent(at, data));
      chart.line.setAttribute("x2", percent(at, data));
      if (!row) return;
      if (!chart.values) {
        chart.values = chart.svg.parentNode.appendChild(element("div", { className: "values" }));
        chart.values.setAttribute("aria-hidden", "true");
      }
      chart.values.textContent = Array.from(row.cells, function (cell, i) { return chart.heads[i] + ": " + cell.textContent; }).join("\n");
      chart.values.style.top = chart.svg.offsetTop + "px";
      var side = at > 0.5 ? { right: 101 - parseFloat(percent(at, data)) + "%", left: "" } : { left: 1 + parseFloat(percent(at, data)) + "%", right: "" };
      Object.assign(chart.values.style, side);
    });
  }
  function grouped(chart) {
    var data = chart.svg.dataset, root = chart.svg.closest("details:has(> section), main");
    var group = groups.find(function (group) { return group.root === root && group.whole.from === +data.from && group.whole.to === +data.to; });
    if (!group) {
      group = { root: root, charts: [], from: 0, to: 1, whole: { from: +data.from, to: +data.to }, unit: data.unit, ends: [+data.from, +data.to] };
      groups.push(group);
      var bar = element("div", { className: "time" });
      bar.setAttribute("role", "group");
      bar.setAttribute("aria-label", "Time of the charts");
      var slide = element("input", { type: "range", min: 0, max: 1000, value: 0 });
      slide.setAttribute("aria-label", "Moment whose values are shown");
      slide.addEventListener("input", function () { cross(group, slide.value / 1000); });
      slide.addEventListener("blur", function () { cross(group, null); });
      group.told = element("output", {});
      bar.append("Time ", group.told);
      [["Zoom in", 0.25, -0.25], ["Zoom out", -0.5, 0.5], ["Earlier", -0.5, -0.5], ["Later", 0.5, 0.5], ["Whole run", -1e9, 1e9]].forEach(function (way) {
        var button = element("button", { type: "button", textContent: way[0] });
        button.addEventListener("click", function () {
          var ends = group.ends, length = ends[1] - ends[0], from = ends[0] + way[1] * length, to = ends[1] + way[2] * length;
          // What would be beyond the run is not shown, but the length stays.
          if (way[1] === way[2]) {
            from = Math.max(group.whole.from, Math.min(from, group.whole.to - length));
            to = from + length;
          }
          choose(group, from, to);
        });
        bar.append(button);
      });
      bar.append(slide);
      root.insertBefore(bar, chart.svg.closest("section"));
    }
    var part = parts(chart)[0];
    chart.bottom = +part.getAttribute("y") + +part.getAttribute("height");
    chart.line = drawn(chart, "line", { "class": "cross", y1: part.getAttribute("y"), y2: chart.bottom });
    chart.labels = Array.from(chart.svg.querySelectorAll(":scope > .label"), function (text) {
      return { text: text, at: (parseFloat(text.getAttribute("x")) / 100 - data.left) / (data.right - data.left) };
    });
    group.charts.push(chart);
    return group;
  }
  document.querySelectorAll("figure > svg[data-from]").forEach(function (svg) {
    var table = svg.parentNode.nextElementSibling && svg.parentNode.nextElementSibling.querySelector("table");
    var data = svg.dataset, chart = { svg: svg }, find;
    // A page may have many charts: a table is read when it is needed.
    chart.find = function (x, y) {
      if (!table) return null;
      if (!find) {
        chart.heads = Array.from(table.tHead.rows[0].cells, function (cell) { return cell.textContent; });
        find = finder(data, chart.heads, Array.from(table.tBodies[0].rows));
      }
      return find(x, y);
    };
    chart.box = function () { return svg.getBoundingClientRect().width > 0; };
    var group = data.scale ? null : grouped(chart), start = null;
    function place(event) {
      var box = svg.getBoundingClientRect();
      return ((event.clientX - box.left) / box.width - data.left) / (data.right - data.left);
    }
    function within(at) { return Math.max(0, Math.min(1, at)); }
    svg.addEventListener("pointermove", function (event) {
      var box = svg.getBoundingClientRect(), at = place(event), x = group ? group.from + at * (group.to - group.from) : at;
      var y = (data.bottom - (event.clientY - box.top)) / (data.bottom - data.top), isBeside = at < -0.02 || at > 1.02;
      if (group) {
        cross(group, isBeside ? null : within(at), svg);
        if (start !== null) {
          var ends = [start, within(at)].sort(function (a, b) { return a - b; }), left = percent(ends[0], data);
          Object.entries({ x: left, width: parseFloat(percent(ends[1], data)) - parseFloat(left) + "%", y: data.top || chart.line.getAttribute("y1"),
            height: chart.bottom - chart.line.getAttribute("y1") }).forEach(function (entry) { chart.chosen.setAttribute(entry[0], entry[1]); });
        }
      }
      var row = isBeside ? null : chart.find(x, y);
      tip.hidden = !row;
      if (!row) return;
      tip.textContent = Array.from(row.cells, function (cell, i) {
        return chart.heads[i] + ": " + cell.textContent;
      }).join("\n");
      var left = event.clientX + 14, top = event.clientY + 14;
      if (left + tip.offsetWidth > document.documentElement.clientWidth) left = event.clientX - tip.offsetWidth - 14;
      tip.style.left = Math.max(0, left) + "px";
      tip.style.top = Math.max(0, Math.min(top, window.innerHeight - tip.offsetHeight)) + "px";
    });
    svg.addEventListener("pointerleave", function () {
      tip.hidden = true;
      if (group && start === null) cross(group, null);
    });
    if (!group) return;
    svg.addEventListener("pointerdown", function (event) {
      if (event.button !== 0) return;
      start = within(place(event));
      svg.setPointerCapture(event.pointerId);
      chart.chosen = drawn(chart, "rect", { "class": "chosen", width: 0, height: 0 });
      event.preventDefault();
    });
    function end(event) {
      if (start === null) return;
      var ends = [start, within(place(event))].sort(function (a, b) { return a - b; });
      start = null;
      chart.chosen.remove();
      if (event.type !== "pointerup" || ends[1] - ends[0] < 0.01) return;
      var from = group.ends[0], length = group.ends[1] - from;
      choose(group, from + ends[0] * length, from + ends[1] * length);
    }
    svg.addEventListener("pointerup", end);
    svg.addEventListener("pointercancel", end);
    svg.addEventListener("dblclick", function () { choose(group, group.whole.from, group.whole.to); });
  });
  function shown() {
    var found = /^#t=([\d.]+)-([\d.]+)(?:,(\d+))?$/.exec(location.hash);
    groups.forEach(function (group, no) {
      if (found && no === Number(found[3] || 0)) show(group, +found[1], +found[2]);
      else if (!found && !location.hash || !group.told.textContent) show(group, group.whole.from, group.whole.to);
    });
  }
  window.addEventListener("hashchange", shown);
  shown();
})();
