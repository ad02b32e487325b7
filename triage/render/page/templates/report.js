(() => {
  const grid = document.getElementById("grid"), tip = document.getElementById("tip");
  if (!grid || !tip) return;
  const told = JSON.parse(grid.dataset.cells), columns = new Map();
  const runs = told.at.slice();
  let index = 0;
  for (const [left, top, node, ranks] of told.strips) {
    let row = 0;
    for (const span of ranks.split(",")) {
      const [first, last] = span.split("-").map(Number);
      for (let rank = first; rank <= (last ?? first); rank += 1) {
        const x = told.columns ? left + rank % told.columns * told.size : left;
        const y = told.columns ? top : top + row * told.size;
        while (runs[0][1] === 0) runs.shift();
        runs[0][1] -= 1;
        const place = told.places[runs[0][0]];
        const words = [`rank ${rank}`, node, told.names[told.states[index]], place];
        if (!columns.has(x)) columns.set(x, []);
        columns.get(x).push([y, words.filter(Boolean).join(", ")]);
        row += 1;
        index += 1;
      }
    }
  }
  const hint = tip.textContent;
  grid.addEventListener("mousemove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY)
      .matrixTransform(grid.getScreenCTM().inverse());
    let words = hint;
    for (const [x, cells] of columns) {
      if (at.x < x || at.x >= x + told.size) continue;
      const cell = cells.find(([y]) => at.y >= y && at.y < y + told.size);
      if (cell) words = cell[1];
    }
    tip.textContent = words;
  });
})();
