// The script of a guest's page: it puts the parts that the extension made into their places, and tells it what was pressed. It decides nothing.
(() => {
  const editor = acquireVsCodeApi();
  const drawn = new Map();

  // What has the focus in a part that is drawn anew gets it back.
  function keyOf(element) {
    const { act, log } = element?.dataset ?? {};
    if (act !== undefined) return `[data-act="${CSS.escape(act)}"]`;
    return log === undefined ? undefined : `[data-log="${CSS.escape(log)}"]`;
  }

  function put(id, markup) {
    const part = document.getElementById(id);
    if (part === null || drawn.get(id) === markup) return;
    const focused = part.contains(document.activeElement) ? keyOf(document.activeElement) : undefined;
    const pre = part.querySelector('pre');
    const isAtEnd = pre === null || pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 4;
    const top = pre?.scrollTop ?? 0;
    part.innerHTML = markup;
    drawn.set(id, markup);
    const text = part.querySelector('pre');
    if (text !== null) text.scrollTop = isAtEnd ? text.scrollHeight : top;
    if (focused !== undefined) part.querySelector(focused)?.focus();
  }

  window.addEventListener('message', ({ data }) => {
    for (const [id, markup] of Object.entries(data?.parts ?? {})) put(id, markup);
    if (typeof data?.to === 'string') document.getElementById(data.to)?.scrollIntoView({ block: 'start' });
  });

  document.addEventListener('click', ({ target }) => {
    const { act, log } = target.closest('button')?.dataset ?? {};
    if (act !== undefined) editor.postMessage({ act });
    if (log !== undefined) editor.postMessage({ log });
  });

  editor.postMessage({ ready: true });
})();
