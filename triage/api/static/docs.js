// Draws the OpenAPI file as a page. Everything is put in as text, never as markup.
"use strict";

function make(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function nameOf(schema) {
  if (!schema) return "bytes";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.anyOf) return schema.anyOf.map(nameOf).join(" or ");
  if (schema.type === "array") return "list of " + nameOf(schema.items || {});
  const name = schema.format || schema.type || "anything";
  const low = schema.minimum ?? schema.exclusiveMinimum, high = schema.maximum;
  if (low === undefined && high === undefined) return name;
  return name + " (" + (low ?? "...") + " to " + (high ?? "...") + ")";
}

function table(heads, rows) {
  const found = make("table");
  const head = found.appendChild(make("tr"));
  heads.forEach((text) => head.append(make("th", text)));
  rows.forEach((cells) => {
    const row = found.appendChild(make("tr"));
    cells.forEach((cell) => {
      const place = row.appendChild(make("td"));
      place.append(typeof cell === "string" ? document.createTextNode(cell) : cell);
    });
  });
  return found;
}

function parameters(operation) {
  const rows = (operation.parameters || []).map((one) => [
    make("code", one.name), one.in + (one.required ? ", needed" : ""),
    nameOf(one.schema), one.description || "",
  ]);
  return rows.length ? [table(["parameter", "in", "form", ""], rows)] : [];
}

function body(operation) {
  const request = operation.requestBody;
  if (!request) return [];
  const found = [make("p", "Body: " + (request.description || ""))];
  found.push(table(["media type", "form"], Object.entries(request.content).map(
    ([media, one]) => [make("code", media), nameOf(one.schema)])));
  Object.values(request.content).forEach((one) => {
    Object.values(one.examples || {}).forEach((example) => {
      found.push(make("pre", JSON.stringify(example.value, null, 2)));
    });
  });
  return found;
}

function answers(operation) {
  return table(["answer", "", "form"], Object.entries(operation.responses).map(([status, one]) => [
    make("span", status, Number(status) < 400 ? "good" : "bad"), one.description,
    Object.entries(one.content || {}).map(([media, form]) => media + ": " + nameOf(form.schema)).join("; "),
  ]));
}

function route(path, method, operation) {
  const found = make("details");
  const line = found.appendChild(make("summary"));
  line.append(make("span", method.toUpperCase(), "method"), make("span", path, "path"),
    make("span", operation.summary || ""), make("span", operation["x-scope"] || "open", "scope"));
  if (operation.description) found.append(make("p", operation.description));
  found.append(...parameters(operation), ...body(operation), answers(operation));
  found.dataset.words = (method + " " + path + " " + operation.summary).toLowerCase();
  return found;
}

function draw(file) {
  document.getElementById("about").textContent =
    "Version " + file.info.version + ". " + file.info.description;
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
    one.append(make("summary", name), make("p", schema.description || ""));
    if (schema.properties) {
      one.append(table(["key", "form", ""], Object.entries(schema.properties).map(
        ([key, value]) => [make("code", key), nameOf(value), value.description || ""])));
    } else one.append(make("pre", JSON.stringify(schema, null, 2)));
  }
  const filter = document.getElementById("filter");
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().trim();
    routes.querySelectorAll("details").forEach((one) => { one.hidden = !one.dataset.words.includes(words); });
  });
}

fetch("/openapi.json").then((answer) => answer.json()).then(draw).catch((error) => {
  document.getElementById("about").textContent = "openapi.json cannot be read: " + error;
});
