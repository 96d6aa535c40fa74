import * as z from 'zod';
import { guestOperationShape, tagsArgument } from '#kernel/arguments';
import { sanitizeText } from '#kernel/text/text';
import { defineTool } from '#kernel/tool';
import { keptKeys } from '../support/condition.ts';
import { configurationTool } from '../support/set-configuration.ts';

export const setGuestConfig = defineTool({
  ...configurationTool,
  name: 'set_guest_config',
  title: 'Set guest configuration',
  description:
    'Change a Proxmox VE guest: cores, memory, tags, description, start on boot; nothing else. It is refused when anybody changed the configuration since it was approved. What a running guest takes up only at its next start is said (`pending`). A person approves each call first.',
  input: z.strictObject({
    ...guestOperationShape,
    cores: z.number().int().min(1).max(512).optional().meta({ description: 'CPU cores.' }),
    memory: z.number().int().min(16).max(8_388_608).optional().meta({ description: 'Memory in MiB.' }),
    tags: tagsArgument.optional(),
    description: z.string().transform(sanitizeText).pipe(z.string().max(8_192)).optional().meta({ description: 'Notes that people read.' }),
    onboot: z.boolean().optional().meta({ description: 'Whether it starts with its node.' }),
    unset: z.array(z.enum(keptKeys)).max(5).optional().meta({ description: 'Keys to put back to their defaults.' }),
  }),
});
