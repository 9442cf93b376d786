// SPDX-License-Identifier: Apache-2.0
// Runs the script of a report on a document that has only the functions that the script uses:
// node report_page_dom.js PAGE < [[picture, event, {clientX, clientY, …}], …]
// Prints the drawn elements, before the first event and after each, and the views that the page has stored.
"use strict";
const fs = require("fs");
const vm = require("vm");

class Node {}
class element extends Node {
  constructor(tag, namespace) {
    super();
    Object.assign(this, {tag, namespace, attributes: {}, children: [], listeners: {}, parent: null});
    Object.seal(this);  // the script must not set innerHTML
  }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  append(...children) {
    for (const child of children) {
      if (child === undefined) throw new Error(`<${this.tag}> has an undefined child`);
      if (child instanceof Node) child.parent = this;
      this.children.push(child instanceof Node ? child : String(child));
    }
  }
  replaceChildren(...children) {
    this.children = [];
    this.append(...children);
  }
  remove() { this.parent.children = this.parent.children.filter(child => child !== this); }
  get textContent() { return this.children.map(child => child.textContent ?? child).join(""); }
  set textContent(text) { this.replaceChildren(text); }
  addEventListener(name, react) { this.listeners[name] = react; }
  getBoundingClientRect() {
    const [, , width, height] = this.attributes.viewBox.split(" ").map(Number);
    return {left: 0, top: 0, width, height};
  }
  setPointerCapture() {}
  toJSON() { return {tag: this.tag, namespace: this.namespace, ...this.attributes, children: this.children}; }
  *all() {
    yield this;
    for (const child of this.children) if (child instanceof element) yield* child.all();
  }
}

const page = fs.readFileSync(process.argv[2], "utf-8");
const scripts = [...page.matchAll(/<script([^>]*)>(.*?)<\/script>/gs)];
const named = {page: new element("main"), run: new element("script")};
named.run.textContent = scripts[0][2];
const seen = {title: "", reloads: 0, timers: []};
const document = {
  createElement: tag => new element(tag, "html"),
  createElementNS: (namespace, tag) => new element(tag, namespace),
  getElementById: id => named[id],
  set title(text) { seen.title = text; },
};
const history = {state: JSON.parse(process.argv[3] || "null"), replaceState(state) { this.state = structuredClone(state); }};
const context = {document, history, Node, location: {reload() { ++seen.reloads; }},
                 setTimeout: (react, time) => seen.timers.push([react, time])};
vm.runInNewContext(scripts[1][2], context, {filename: "report_page.inc"});
const drawings = [JSON.parse(JSON.stringify(named.page))];
for (const [label, name, event] of JSON.parse(fs.readFileSync(0, "utf-8"))) {
  if (name === "timer") {
    seen.timers.shift()[0]();
  } else {
    const target = [...named.page.all()].find(one => one.attributes["aria-label"] === label);
    target.listeners[name]({button: 0, pointerId: 1, shiftKey: false, ...event});
  }
  drawings.push(JSON.parse(JSON.stringify(named.page)));
}
console.log(JSON.stringify({drawings, views: history.state, title: seen.title, reloads: seen.reloads,
                            timers: seen.timers.map(([, time]) => time), scripts: scripts.length}));
