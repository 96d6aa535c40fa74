/** `banksman demo`: the embedded demo cluster on loopback, until stopped. */
import { type CommandOptions, operands, wholeNumber } from '../command-line.ts';
import { printError, printJson } from '../output.ts';

export async function runDemo(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const port = options.port === undefined ? 0 : wholeNumber(options.port, 'port', { min: 0, max: 65_535 });
  const { startDemo } = await import('#app/demo');
  const demo = await startDemo({ port });
  printJson(demo.config);
  printError('demo cluster runs; stop it with Ctrl-C');
  await stopped();
  await demo.close();
  return 0;
}

async function stopped(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve());
  await promise;
}
