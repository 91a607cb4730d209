// `npm run docs:messages`: writes docs/messages.md anew from the tables of codes in domain/ and the sentences in the
// sources. A test tells when it is due.

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { importBuilt } from './build.mjs';
import { messagesPage, serviceRows } from './lib/messages-page.mjs';
import { runIfMain } from './lib/main.mjs';
import { sentencesOf } from './lib/sentences.mjs';
import { say } from './lib/steps.mjs';
import { setup } from './setup.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

await runIfMain(import.meta.url, async () => {
  await setup({ upTo: 'build' });
  const { PROBLEMS, FILES_AT_FAULT } = await importBuilt('domain/problems.js');
  const { START_PROBLEMS, REFUSALS } = await importBuilt('domain/command-problems.js');
  const { FILE_MISTAKES } = await importBuilt('domain/file-mistakes.js');
  const { DECISIONS, wordsOf } = await importBuilt('domain/service/reply-rules.js');
  const { saidBy, adviceOf } = await importBuilt('domain/writes/step.js');
  const { EXIT_CODES, endingOfCode } = await importBuilt('operations/exit-codes.js');
  const service = serviceRows(Object.keys(DECISIONS), { wordsOf, saidBy, adviceOf, endingOf: endingOfCode });
  const tables = {
    runs: PROBLEMS,
    starts: START_PROBLEMS,
    refusals: REFUSALS,
    service,
    files: FILES_AT_FAULT,
    mistakes: FILE_MISTAKES,
  };
  writeFileSync(
    new URL('../docs/messages.md', import.meta.url),
    messagesPage(tables, EXIT_CODES, sentencesOf(ROOT)),
  );
  say('Wrote docs/messages.md.');
  return 0;
});
