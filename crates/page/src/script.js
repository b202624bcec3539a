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
      var values = Array.from(row.cells, function (cell) { return Number(cell.textContent); });
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
  document.querySelectorAll("figure > svg[data-from]").forEach(function (svg) {
    var table = svg.parentNode.nextElementSibling && svg.parentNode.nextElementSibling.querySelector("table");
    if (!table) return;
    var data = svg.dataset, heads, find;
    svg.addEventListener("pointermove", function (event) {
      // A page may have many charts: a table is read when it is needed.
      if (!find) {
        heads = Array.from(table.tHead.rows[0].cells, function (cell) { return cell.textContent; });
        find = finder(data, heads, Array.from(table.tBodies[0].rows));
      }
      var box = svg.getBoundingClientRect();
      var x = ((event.clientX - box.left) / box.width - data.left) / (data.right - data.left);
      var y = (data.bottom - (event.clientY - box.top)) / (data.bottom - data.top);
      var row = x < -0.02 || x > 1.02 ? null : find(x, y);
      tip.hidden = !row;
      if (!row) return;
      tip.textContent = Array.from(row.cells, function (cell, i) {
        return heads[i] + ": " + cell.textContent;
      }).join("\n");
      var left = event.clientX + 14, top = event.clientY + 14;
      if (left + tip.offsetWidth > document.documentElement.clientWidth) left = event.clientX - tip.offsetWidth - 14;
      tip.style.left = Math.max(0, left) + "px";
      tip.style.top = Math.max(0, Math.min(top, window.innerHeight - tip.offsetHeight)) + "px";
    });
    svg.addEventListener("pointerleave", function () { tip.hidden = true; });
  });

  // Flame graphs: a click, or Enter, makes a frame as wide as the graph; a search marks functions. Of all
  // frames, Tab reaches one; arrow keys go from it to its neighbors, Escape shows all.
  document.querySelectorAll("svg.chart g.flame").forEach(function (flame) {
    var chart = flame.closest("svg.chart"), figure = flame.closest("figure");
    var frames = Array.from(flame.querySelectorAll("svg.frame")).map(function (frame) {
      return { frame: frame, from: parseFloat(frame.getAttribute("x")), width: parseFloat(frame.getAttribute("width")),
        y: parseFloat(frame.getAttribute("y")), name: frame.querySelector("title").textContent };
    });
    var whole = { from: 0, width: 100, y: 1e9 };
    // An image has no parts that can be reached.
    chart.setAttribute("role", "group");
    chart.setAttribute("aria-label", chart.querySelector("title").textContent);
    function zoom(to) {
      var end = to.from + to.width;
      frames.forEach(function (f) {
        var covers = f.from <= to.from + 1e-6 && f.from + f.width >= end - 1e-6 && f.y >= to.y;
        var inside = f.from >= to.from - 1e-6 && f.from + f.width <= end + 1e-6 && f.y <= to.y;
        f.frame.style.display = covers || inside ? "" : "none";
        var width = covers ? 100 : 100 * f.width / to.width;
        f.frame.setAttribute("x", (covers ? 0 : 100 * (f.from - to.from) / to.width) + "%");
        f.frame.setAttribute("width", width + "%");
        f.frame.setAttribute("aria-pressed", String(f === to));
        // Narrow frames have no text until they are wide.
        if (width < 2 || f.frame.querySelector("text")) return;
        var text = document.createElementNS(chart.namespaceURI, "text");
        text.setAttribute("x", "3");
        text.setAttribute("y", "12");
        text.textContent = f.name.split(", ").slice(0, -2).join(", ");
        f.frame.appendChild(text);
      });
    }
    function reach(to) {
      frames.forEach(function (f) { f.frame.setAttribute("tabindex", f === to ? "0" : "-1"); });
    }
    // The nearest frame that is shown in a direction: above or below, or in the same row.
    function neighbor(of, key) {
      var rows = { ArrowUp: -1, ArrowDown: 1 }[key] || 0, height = parseFloat(of.frame.getAttribute("height"));
      return frames.filter(function (f) {
        if (f === of || f.frame.style.display === "none" || Math.abs(f.y - of.y - rows * height) > 0.5) return false;
        if (key === "ArrowLeft") return f.from < of.from;
        if (key === "ArrowRight") return f.from > of.from;
        return f.from < of.from + of.width - 1e-6 && of.from < f.from + f.width - 1e-6;
      }).sort(function (a, b) {
        return rows ? b.width - a.width : Math.abs(a.from - of.from) - Math.abs(b.from - of.from);
      })[0];
    }
    frames.forEach(function (f) {
      f.frame.setAttribute("role", "button");
      f.frame.setAttribute("aria-label", f.name);
      f.frame.addEventListener("click", function () { reach(f); zoom(f); });
      f.frame.addEventListener("keydown", function (event) {
        if (event.key === "Enter" || event.key === " ") zoom(f);
        else if (event.key === "Escape") zoom(whole);
        else if (event.key.indexOf("Arrow") === 0) {
          var next = neighbor(f, event.key);
          if (next) { reach(next); next.frame.focus(); }
        } else return;
        event.preventDefault();
      });
    });
    zoom(whole);
    reach(frames[0]);
    var label = document.createElement("label");
    label.className = "search";
    label.textContent = "Search functions ";
    var input = document.createElement("input");
    input.type = "search";
    var found = document.createElement("output");
    var reset = document.createElement("button");
    reset.type = "button";
    reset.textContent = "Show all";
    reset.addEventListener("click", function () { zoom(whole); });
    input.addEventListener("input", function () {
      var text = input.value.toLowerCase(), count = 0;
      frames.forEach(function (f) {
        var is = text !== "" && f.name.toLowerCase().indexOf(text) >= 0;
        f.frame.classList.toggle("found", is);
        count += is;
      });
      found.textContent = text === "" ? "" : " " + count + (count === 1 ? " frame " : " frames ");
    });
    label.appendChild(input);
    var bar = document.createElement("div");
    bar.append(label, found, reset);
    bar.className = "tools";
    figure.insertBefore(bar, chart);
  });
})();
