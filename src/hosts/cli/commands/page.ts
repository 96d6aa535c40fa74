/** `banksman page`: the page on which people approve with a passkey, until stopped. For who has no service, which serves it itself. */
import { Fault } from '#kernel/errors';
import { type CommandOptions, operands } from '../command-line.ts';
import { printError, printJson, stderrLog } from '../output.ts';
import { configOf, withLocalApp } from '../session.ts';

/** The last line on stdout is JSON with the address. */
export async function runPage(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const { config, baseDir } = await configOf(options);
  const { page } = config;
  if (page === undefined) {
    throw new Fault('no_page', 'the configuration names no page', {
      audience: 'operator',
      next: 'add `"page": { "origin": "http://localhost:779" }` to it, or an https name with `certFile` and `keyFile`',
    });
  }
  // Loaded on demand: the other commands start without it.
  const { startPage } = await import('#hosts/page/start-page');
  await withLocalApp(options, async (app, signal) => {
    const served = await startPage({ app, page, baseDir, log: stderrLog });
    try {
      printJson({ url: `${served.origin}/` });
      if ('demo' in page) printError('a demo: any user of this machine could take this port and show another page there');
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    } finally {
      await served.close();
    }
  });
  return 0;
}
