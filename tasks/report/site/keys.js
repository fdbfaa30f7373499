// Copies, and the keyboard: j and k move among what is read one by one, o opens it, c copies its address.

const READ = "details.test, .reply-of, .replies tbody tr, .example, details.play, details.session, .trial";

async function copyText(text, near) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.className = "unseen";
    field.value = text;
    near.after(field);
    field.select();
    document.execCommand("copy");
    field.remove();
    near.focus();
  }
}

const addressOf = (item) => {
  const own = item.closest("[data-address], [id]");
  return `${location.href.split("#")[0]}${own?.dataset.address ?? `#${own?.id ?? ""}`}`;
};

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, textarea") || !"jkoc".includes(key)) return;
  const items = [...document.querySelectorAll(READ)].filter((one) => one.checkVisibility({ contentVisibilityAuto: false }));
  const now = items.findLastIndex((one) => one.contains(target));
  if (key === "o" && now >= 0 && items[now].localName === "tr") items[now].querySelector("a").click();
  else if (key === "o" && now >= 0) items[now].open = !items[now].open;
  if (key === "c" && now >= 0) copyText(addressOf(items[now]), target);
  const next = items[key === "j" ? now + 1 : now - 1];
  if ((key !== "j" && key !== "k") || !next) return;
  const focused = next.querySelector(":scope > summary") ?? next;
  if (focused === next) next.tabIndex = -1;
  focused.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
});
