/**
 * Imported before whatever makes schemas: zod looks at this when a schema is made. Without it zod probes for `new Function`, and on the way for
 * the global `navigator`, which the editor reports as a fault of the extension; and it compiles a parser for each schema that is used, which takes a
 * command that uses each of them once 10 ms longer.
 */
import * as z from 'zod';

z.config({ jitless: true });
