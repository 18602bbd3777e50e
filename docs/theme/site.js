// What pages do beyond being read: theme, menu, copying, live frames, where one is, the search dialog.
"use strict";
(() => {
  const root = document.documentElement, base = document.currentScript.dataset.root;
  const one = (selector) => document.querySelector(selector), all = (selector) => [...document.querySelectorAll(selector)];
  const button = (label, text, action) => {
    const made = Object.assign(document.createElement("button"), { type: "button", className: label, textContent: text });
    made.addEventListener("click", () => action(made));
    return made;
  };

  // ---- theme: the system's until the reader chooses the other one -----------------------------------------------------
  const night = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (night.matches ? "dark" : "light");
  const dress = (frame) => frame.contentWindow?.postMessage({ theme: theme() }, "*");
  const dressAll = () => all(".live iframe").forEach(dress);
  one(".theme").addEventListener("click", () => {
    const wanted = theme() === "dark" ? "light" : "dark";
    root.dataset.theme = wanted === (night.matches ? "dark" : "light") ? "" : wanted;
    try { localStorage.setItem("forearm-theme", root.dataset.theme); } catch { /* not remembered */ }
    dressAll();
  });
  night.addEventListener("change", dressAll);

  // ---- the menu of a narrow window ------------------------------------------------------------------------------------
  const menu = one(".menu");
  const openMenu = (open) => { root.classList.toggle("menu-open", open); menu.setAttribute("aria-expanded", String(open)); };
  menu.addEventListener("click", () => openMenu(!root.classList.contains("menu-open")));
  addEventListener("keydown", ({ key }) => { if (key === "Escape" && root.classList.contains("menu-open")) { openMenu(false); menu.focus(); } });
  one("#pages [aria-current]")?.scrollIntoView({ block: "center" });
  scrollTo(scrollX, scrollY);

  // ---- code to the clipboard, without prompts and what commands print ------------------------------------------------
  for (const block of all(".codehilite")) {
    block.append(button("copy", "Copy", async (made) => {
      const text = block.querySelector("code").textContent, typed = text.match(/^\$ .*$/gm);
      try { await navigator.clipboard.writeText(typed ? typed.map((line) => line.slice(2)).join("\n") : text); made.textContent = "Copied"; }
      catch { made.textContent = "Not allowed"; }
      setTimeout(() => { made.textContent = "Copy"; }, 1500);
    }));
  }

  // ---- live arms: loaded when they come near the window ---------------------------------------------------------------
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      const frame = Object.assign(document.createElement("iframe"), { src: target.dataset.page, title: target.dataset.title });
      frame.addEventListener("load", () => { dress(frame); target.classList.add("loaded"); });
      target.append(frame);
    }
  }, { rootMargin: "200px" });
  all(".live .stage").forEach((stage) => near.observe(stage));

  // ---- the heading that is read, in the list on the right -------------------------------------------------------------
  const links = new Map(all("#contents a").map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
  const headings = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  let waiting = false;
  const follow = () => {
    waiting = false;
    const end = innerHeight + scrollY >= root.scrollHeight - 2;
    const read = end ? headings.at(-1) : headings.findLast((heading) => heading.getBoundingClientRect().top < 120);
    for (const [id, link] of links) {
      const here = id === read?.id;
      if (here && !link.hasAttribute("aria-current")) { const list = one("#contents"); list.scrollTop = link.offsetTop - list.clientHeight / 2; }
      if (here) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    }
  };
  if (headings.length) {
    addEventListener("scroll", () => { if (!waiting) requestAnimationFrame(follow); waiting = true; }, { passive: true });
    follow();
  }

  // ---- search ---------------------------------------------------------------------------------------------------------
  const dialog = one("#search"), input = dialog.querySelector("input"), list = one("#found"), status = dialog.querySelector("[role=status]");
  let index = null, chosen = -1;

  // The index is a script: a page that was opened as a file may load one, and may not fetch.
  function loadIndex() {
    if (index) return;
    index = { pages: [], sections: [] };
    const script = Object.assign(document.createElement("script"), { src: `${base}search_index.js` });
    script.addEventListener("load", () => { index = globalThis.forearmIndex; show(); });
    script.addEventListener("error", () => { index = null; status.textContent = "The search index could not be loaded."; });
    document.head.append(script);
  }

  function openSearch() {
    loadIndex();
    openMenu(false);
    if (!dialog.open) dialog.showModal();
    input.select();
  }

  function withMarks(element, text) {
    for (const [piece, hit] of marked(text, input.value)) element.append(hit ? Object.assign(document.createElement("mark"), { textContent: piece }) : piece);
    return element;
  }

  function show() {
    const found = search(index, input.value);
    list.replaceChildren(...found.map(({ url, page, heading, excerpt }, k) => {
      const item = Object.assign(document.createElement("li"), { id: `found-${k}`, role: "option" });
      const link = Object.assign(document.createElement("a"), { href: base + url, tabIndex: -1 });
      link.append(withMarks(document.createElement("b"), heading ? `${page} / ${heading}` : page), withMarks(document.createElement("span"), excerpt));
      item.append(link);
      item.addEventListener("pointermove", () => choose(k));
      return item;
    }));
    input.setAttribute("aria-expanded", String(found.length > 0));
    status.textContent = !input.value.trim() || !index.pages.length ? "" : found.length ? `${found.length === 40 ? "The best 40" : found.length} results` : "Nothing found. Every word of a query begins a word of the section; try fewer words.";
    choose(found.length ? 0 : -1);
  }

  function choose(k) {
    list.children[chosen]?.removeAttribute("aria-selected");
    chosen = k;
    const item = list.children[k];
    item?.setAttribute("aria-selected", "true");
    item?.scrollIntoView({ block: "nearest" });
    if (item) input.setAttribute("aria-activedescendant", item.id); else input.removeAttribute("aria-activedescendant");
  }

  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    const count = list.children.length, step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && count) { choose((chosen + step + count) % count); event.preventDefault(); }
    if (event.key === "Enter") list.children[chosen]?.querySelector("a").click();
  });
  list.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  one(".find").addEventListener("click", openSearch);
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey || event.key === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      openSearch();
    }
  });
})();
