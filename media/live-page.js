// The script of pages that follow what happens: it puts the parts that the extension made into their places, and tells it what was pressed. It decides nothing.
(() => {
  const editor = acquireVsCodeApi();
  const drawn = new Map();

  // What has the focus in a part that is drawn anew gets it back; what was unfolded stays so.
  function keyOf({ dataset: { say, value } }) {
    return say === undefined
      ? undefined
      : `[data-say="${CSS.escape(say)}"]${value === undefined ? '' : `[data-value="${CSS.escape(value)}"]`}`;
  }

  function put(id, markup) {
    const part = document.getElementById(id);
    if (part === null || drawn.get(id) === markup) return;
    const focused = part.contains(document.activeElement) ? keyOf(document.activeElement) : undefined;
    const folds = new Map([...part.querySelectorAll('details[id]')].map(({ id: fold, open }) => [fold, open]));
    const pre = part.querySelector('pre:not(.still)');
    const isAtEnd = pre === null || pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 4;
    const top = pre?.scrollTop ?? 0;
    part.innerHTML = markup;
    drawn.set(id, markup);
    for (const fold of part.querySelectorAll('details[id]')) fold.open = folds.get(fold.id) ?? fold.open;
    const text = part.querySelector('pre:not(.still)');
    if (text !== null) text.scrollTop = isAtEnd ? text.scrollHeight : top;
    // What had the focus is gone with what was answered: the page's title has it then, and not nothing.
    if (focused !== undefined) (part.querySelector(focused) ?? document.querySelector('h1')).focus();
  }

  window.addEventListener('message', ({ data }) => {
    for (const [id, markup] of Object.entries(data?.parts ?? {})) put(id, markup);
    if (typeof data?.to === 'string') document.getElementById(data.to)?.scrollIntoView({ block: 'start' });
  });

  document.addEventListener('click', ({ target }) => {
    const { say, value = '' } = target.closest('button')?.dataset ?? {};
    if (say !== undefined) editor.postMessage({ [say]: value });
  });

  document.addEventListener('change', ({ target }) => {
    const { say } = target.dataset;
    if (say !== undefined) editor.postMessage({ [say]: target.value });
  });

  editor.postMessage({ ready: true });
})();
