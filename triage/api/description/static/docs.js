// Draws the OpenAPI file as a page. Everything is put in as text, never as markup.
"use strict";

function make(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function link(text, address) {
  const node = make("a", text);
  node.href = address;
  return node;
}

// What stands between backticks is code.
function prose(text) {
  const found = make("span");
  (text || "").split("`").forEach((part, k) => found.append(k % 2 ? make("code", part) : part));
  return found;
}

// The form of a value as nodes: the names of shapes lead to them.
function formOf(schema) {
  if (!schema) return ["bytes"];
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return [link(name, "#shape-" + name)];
  }
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  if (schema.enum) return [schema.enum.join(" | ")];
  if (schema.anyOf) return schema.anyOf.flatMap((one, k) => [...(k ? [" or "] : []), ...formOf(one)]);
  if (schema.type === "array") return ["list of ", ...formOf(schema.items || {})];
  const name = schema.format || schema.type || "anything";
  const low = schema.minimum ?? schema.exclusiveMinimum, high = schema.maximum;
  if (low === undefined && high === undefined) return [name];
  return [name + " (" + (low ?? "...") + " to " + (high ?? "...") + ")"];
}

// Each cell is a text, a node, or a list of both. It scrolls by itself where it is too wide.
function table(heads, rows) {
  const found = make("div", undefined, "wide");
  const grid = found.appendChild(make("table"));
  const head = grid.appendChild(make("tr"));
  heads.forEach((text) => head.append(make("th", text)));
  rows.forEach((cells) => {
    const row = grid.appendChild(make("tr"));
    cells.forEach((cell) => row.appendChild(make("td")).append(...[cell].flat()));
  });
  return found;
}

function parameters(operation) {
  const rows = (operation.parameters || []).map((one) => [
    make("code", one.name), one.in + (one.required ? ", needed" : ""),
    formOf(one.schema), prose(one.description),
  ]);
  return rows.length ? [table(["parameter", "in", "form", ""], rows)] : [];
}

function body(operation) {
  const request = operation.requestBody;
  if (!request) return [];
  const found = request.description ? [make("p")] : [];
  if (request.description) found[0].append("Body: ", prose(request.description));
  found.push(table(["body", "form"], Object.entries(request.content).map(
    ([media, one]) => [make("code", media), formOf(one.schema)])));
  Object.values(request.content).forEach((one) => {
    Object.values(one.examples || {}).forEach((example) => {
      found.push(make("pre", JSON.stringify(example.value, null, 2)));
    });
  });
  return found;
}

function answers(operation) {
  const all = Object.entries(operation.responses);
  const good = all.filter(([status]) => Number(status) < 400);
  const bad = all.filter(([status]) => Number(status) >= 400);
  const found = [table(["answer", "", "form"], good.map(([status, one]) => [
    make("span", status, "good"), prose(one.description),
    Object.entries(one.content || {}).flatMap(([media, form], k) => [
      ...(k ? [make("br")] : []), make("code", media), ": ", ...formOf(form.schema)]),
  ]))];
  if (bad.length) {
    const line = make("p", "Refused, with a ", "refusals");
    line.append(link("Problem", "#shape-Problem"), ", as");
    const kinds = [...document.querySelectorAll("#problems dt")];
    bad.forEach(([status, one], k) => {
      const kind = kinds.find((term) => term.textContent.startsWith(status));
      line.append(k ? ", " : " ", make("span", status, "bad"), " ",
        kind ? link(one.description, "#" + kind.id) : one.description);
    });
    found.push(line);
  }
  return found;
}

function route(path, method, operation) {
  const found = make("details");
  const line = found.appendChild(make("summary"));
  line.append(make("span", method.toUpperCase(), "method"), make("span", path, "path"),
    make("span", operation.summary || ""), make("span", operation["x-scope"] || "open", "scope"));
  if (operation.description) found.appendChild(make("p")).append(prose(operation.description));
  found.append(...parameters(operation), ...body(operation), ...answers(operation));
  found.dataset.words = (method + " " + path + " " + operation.summary).toLowerCase();
  return found;
}

function draw(file) {
  document.getElementById("about").replaceChildren(
    "Version " + file.info.version + ". ", prose(file.info.description));
  const routes = document.getElementById("routes");
  const groups = new Map();
  for (const [path, methods] of Object.entries(file.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = (operation.tags || ["other"])[0];
      if (!groups.has(tag)) groups.set(tag, routes.appendChild(make("section"))).get(tag).append(make("h2", tag));
      groups.get(tag).append(route(path, method, operation));
    }
  }
  const shapes = document.getElementById("shapes");
  for (const [name, schema] of Object.entries(file.components.schemas)) {
    const one = shapes.appendChild(make("details"));
    one.id = "shape-" + name;
    one.append(make("summary", name));
    one.appendChild(make("p")).append(prose(schema.description));
    if (schema.properties) {
      one.append(table(["key", "form", ""], Object.entries(schema.properties).map(
        ([key, value]) => [make("code", key), formOf(value), prose(value.description)])));
    } else one.append(make("pre", JSON.stringify(schema, null, 2)));
  }
  const filter = document.getElementById("filter");
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().trim();
    for (const group of groups.values()) {
      const found = [...group.querySelectorAll("details")];
      found.forEach((one) => { one.hidden = !one.dataset.words.includes(words); });
      group.hidden = found.every((one) => one.hidden);
    }
  });
}

// What the address names is there only once it is drawn, and a shape has to be opened.
function goTo() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!place) return;
  if (place.tagName === "DETAILS") place.open = true;
  place.scrollIntoView();
}

window.addEventListener("hashchange", goTo);
fetch("/openapi.json").then((answer) => answer.json()).then(draw).then(goTo).catch((error) => {
  document.getElementById("about").textContent = "openapi.json cannot be read: " + error;
});
