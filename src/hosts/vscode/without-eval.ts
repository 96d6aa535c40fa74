/**
 * Loaded before whatever makes schemas (load-parts.ts): zod looks at this when a schema is made. Without it zod probes for `new Function`, and on the way for
 * the global `navigator`, which the editor reports as a fault of the extension. Parsing a tool's arguments needs no compiled parser.
 */
import * as z from 'zod';

z.config({ jitless: true });
