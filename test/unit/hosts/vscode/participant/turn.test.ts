import { expect, it } from 'vitest';
import { untilCancelled } from '#hosts/vscode/participant/turn';

it('an answer that was cancelled takes nothing more, and throws at nobody', () => {
  const cancelled = new AbortController();
  const written: string[] = [];
  // As the editor's own does a second after a cancel.
  const write = (what: string) => () => {
    if (cancelled.signal.aborted) throw new Error('Response stream has been closed');
    written.push(what);
  };
  const ways = { markdown: write('words'), button: write('button'), progress: write('progress'), reference: write('file') };
  const stream = untilCancelled(ways, cancelled.signal);
  const all = () => {
    stream.markdown('x');
    stream.button({ command: 'x', title: 'x' });
    stream.progress('x');
    stream.reference(undefined as never);
  };
  all();
  cancelled.abort();
  all();
  expect(written).toEqual(['words', 'button', 'progress', 'file']);
});
