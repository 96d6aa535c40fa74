/** The suite's resources, prompts, completion, logging level and subscriptions. */
import { completable, type McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { pngPixel } from './content-tools.ts';

export function registerResources(server: McpServer): void {
  server.registerResource('static text', 'test://static-text', { description: 'text', mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
  }));
  server.registerResource('static binary', 'test://static-binary', { description: 'a pixel', mimeType: 'image/png' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'image/png', blob: pngPixel }],
  }));
  server.registerResource('watched', 'test://watched-resource', { description: 'watched', mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'watched' }],
  }));
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  server.registerResource('template', template, { description: 'by id', mimeType: 'application/json' }, (uri, { id }) => ({
    contents: [
      {
        uri: uri.href,
        mimeType: 'application/json',
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
      },
    ],
  }));
}

export function registerPrompts(server: McpServer): void {
  const say = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } });
  server.registerPrompt('test_simple_prompt', { description: 'simple' }, () => ({
    messages: [say('This is a simple prompt for testing.')],
  }));
  const words = ['paris', 'park', 'party'];
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'with arguments',
      argsSchema: z.object({
        arg1: completable(z.string().meta({ description: 'First test argument' }), (typed) =>
          words.filter((word) => word.startsWith(typed)),
        ),
        arg2: z.string().meta({ description: 'Second test argument' }),
      }),
    },
    ({ arg1, arg2 }) => ({ messages: [say(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'with a resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => ({
      messages: [
        {
          role: 'user',
          content: {
            type: 'resource',
            resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
          },
        },
        say('Please process the embedded resource above.'),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'with an image' }, () => ({
    messages: [{ role: 'user', content: { type: 'image', data: pngPixel, mimeType: 'image/png' } }, say('Please analyze the image above.')],
  }));
}
