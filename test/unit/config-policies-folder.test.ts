/** The folder of policies by which a worker sends: what cannot be used is told, and allows nothing. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { policiesFolder } from '../../config/policies-folder.ts';
import { convertPolicy } from '../support/policies.ts';

const folder = await mkdtemp(join(tmpdir(), 'policies-'));
after(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  await rm(folder, { recursive: true });
  await mkdir(join(folder, 'finishing'), { recursive: true });
});

const put = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);
const named = (name: string): string => convertPolicy().replace('name: replaced', `name: ${name}`);
const PAYOUT = `policy: 1
kind: payout
name: team
environment: sandbox
payout: { fund: { mode: none }, destinations: accounts.yaml }
shortfall: hold
`;
/** A folder is read at once again, where it has changed. */
const AT_ONCE = { pause: async () => {} };
const UNBOUNDED = 'ceilings: 1\nunbounded: true\n';
const read = () => policiesFolder(folder, {}, AT_ONCE)();

test('policies hold by their names, and those that were replaced for the dates before the one in their file’s name', async () => {
  await put('one.yaml', named('one'));
  await put('notes.txt', 'no policy');
  await put('finishing/one@2026-11-28.yaml', named('one'));
  const { policies, troubles } = await read();
  assert.deepEqual(
    policies.map(({ policy, before }) => [policy.name, before]),
    [
      ['one', null],
      ['one', '2026-11-28'],
    ],
  );
  assert.deepEqual(troubles, []);
});

test('a folder as Kubernetes mounts it, of links into a folder of its own, is read as any other', async () => {
  await rm(join(folder, 'finishing'), { recursive: true });
  await mkdir(join(folder, '..2026_11_29', 'revoked'), { recursive: true });
  await symlink('..2026_11_29', join(folder, '..data'));
  await put('..2026_11_29/one.yaml', named('one'));
  await put('..2026_11_29/two.yaml', named('two'));
  await put('..2026_11_29/revoked/two.yaml', named('two'));
  for (const name of ['one.yaml', 'two.yaml', 'revoked'])
    // One after the other.
    await symlink(join('..data', name), join(folder, name));
  const { policies, troubles } = await read();
  assert.deepEqual(
    policies.map(({ policy }) => policy.name),
    ['one'],
  );
  assert.equal(troubles.length, 1);
  assert.match(troubles[0] ?? '', /two/);
});

test('a file with mistakes, a replaced policy without a date, and a name that stands twice allow nothing, and are told', async () => {
  await put('good.yaml', named('good'));
  await put('bad.yaml', 'policy: 1\nkind: what\n');
  await put('finishing/good.yaml', named('good'));
  await put('twin.yaml', named('twin'));
  await put('again.yml', named('twin'));
  const { policies, troubles } = await read();
  assert.deepEqual(
    policies.map(({ policy }) => policy.name),
    ['good'],
  );
  const told = troubles.join('\n');
  for (const what of [
    /^bad\.yaml:\d+:\d+: /m,
    /"finishing\/good\.yaml" has no date in its name/,
    /policy "twin" stands in it twice/,
  ])
    assert.match(told, what);
});

test('a policy that is revoked allows nothing wherever it stands, whatever its comments and schedule say, and is told', async () => {
  await mkdir(join(folder, 'revoked'));
  await put('one.yaml', `# As it was.\n${named('one')}schedule: { at: "09:30", days: weekdays }\n`);
  await put('finishing/one@2026-11-28.yaml', named('one'));
  await put('finishing/one@2026-11-20.yaml', named('one').replace('"1000.00"', '"999.00"'));
  await put('revoked/anything.yaml', named('one'));
  const { policies, troubles } = await read();
  assert.deepEqual(
    policies.map(({ before }) => before),
    ['2026-11-20'],
  );
  assert.deepEqual(troubles, ['"one.yaml" is revoked', '"finishing/one@2026-11-28.yaml" is revoked']);
});

test('while it cannot be read what is revoked, nothing is allowed', async () => {
  await mkdir(join(folder, 'revoked'));
  await put('one.yaml', named('one'));
  await put('revoked/other.yaml', 'policy: [');
  const { policies, troubles } = await read();
  assert.deepEqual(policies, []);
  assert.deepEqual(troubles, ['"revoked/other.yaml", which is revoked, cannot be read']);
});

test('destinations and rates are those of the folder; a file that is missing, outside or wrong leaves none', async () => {
  await put('team.yaml', PAYOUT);
  assert.deepEqual((await read()).policies[0]?.destinations, null);
  assert.match((await read()).troubles.join(), /"accounts\.yaml": there is no such file/);
  await put('accounts.yaml', 'accounts:\n  wac_7Hk2mQ9vT4xR: { currency: MXN, label: the supplier }\n');
  const { policies } = await read();
  assert.deepEqual([...(policies[0]?.destinations ?? [])], [['wac_7Hk2mQ9vT4xR', 'MXN']]);
});

test('ceilings are read from their file; with a mistake in it nothing is allowed', async () => {
  await put('one.yaml', named('one'));
  assert.equal((await read()).ceilings, null);
  await put('ceilings.yaml', 'ceilings: 1\nworkers: 2\npaid: { per_day: ["5.00 EUR"] }\n');
  assert.deepEqual((await read()).ceilings, {
    workers: 2,
    all: [{ kind: 'paid', policy: null, per: 'day', most: { value: '5.00', currency: 'EUR' } }],
  });
  await put('ceilings.yaml', 'ceilings: 1\nworkers: 2\npaid: { per_day: [5.00] }\n');
  const { policies, troubles } = await read();
  assert.deepEqual(policies, []);
  assert.match(troubles.join(), /^ceilings\.yaml:3:/);
});

test('ceilings that were there and are missing, while somebody replaces the file or for good, set nothing free', async () => {
  const again = policiesFolder(folder, {}, AT_ONCE);
  await put('one.yaml', named('one'));
  assert.equal((await again()).policies.length, 1, 'there were none');
  await put('ceilings.yaml', 'ceilings: 1\nworkers: 2\n');
  assert.notEqual((await again()).ceilings, null);
  await rm(join(folder, 'ceilings.yaml'));
  const { policies, troubles } = await again();
  assert.deepEqual(policies, []);
  assert.match(troubles.join(), /"ceilings\.yaml" was there, and is missing now/);
  await put('ceilings.yaml', 'ceilings: 1\nworkers: 2\n');
  assert.equal((await again()).policies.length, 1);
  // That nothing binds a day is said, and may not go missing either.
  await put('ceilings.yaml', UNBOUNDED);
  assert.deepEqual([(await again()).ceilings, (await again()).policies.length], ['UNBOUNDED', 1]);
  const other = policiesFolder(folder, {}, AT_ONCE);
  assert.equal((await other()).ceilings, 'UNBOUNDED');
  await rm(join(folder, 'ceilings.yaml'));
  assert.deepEqual((await other()).policies, []);
});

test('ceilings under another name allow nothing, and a ceiling of a policy that is not there is told', async () => {
  await put('one.yaml', named('one'));
  await put(
    'ceilings.yaml',
    'ceilings: 1\nworkers: 2\npolicies: { on: { paid_per_day: ["5.00 EUR"] }, one: {} }\n',
  );
  const { policies, troubles } = await read();
  assert.equal(policies.length, 1);
  assert.deepEqual(troubles, ['"ceilings.yaml" names policy "on", which is not in the folder']);
  await rm(join(folder, 'ceilings.yaml'));
  await put('Ceilings.yml', 'ceilings: 1\nworkers: 2\n');
  const misnamed = await read();
  assert.deepEqual(misnamed.policies, []);
  assert.match(misnamed.troubles.join(), /"Ceilings\.yml" must have the name "ceilings\.yaml"/);
});

test('a replaced policy whose date does not exist counts for no run', async () => {
  await put('finishing/one@2026-11-31.yaml', named('one'));
  const { policies, troubles } = await read();
  assert.deepEqual(policies, []);
  assert.match(troubles.join(), /has no date in its name/);
});

test('a mistake in a file of destinations is told by its place, without the name of a payee', async () => {
  await put('team.yaml', PAYOUT);
  await put(
    'accounts.yaml',
    `accounts:\n  wac_7Hk2mQ9vT4xR: { currency: MXN, label: "Juan Perez\\nAv. 5" }\n`,
  );
  const { troubles } = await read();
  assert.deepEqual(troubles, ['accounts.yaml:2:45: a mistake']);
});

test('a folder that is not there has no policy, and says so', async () => {
  const { policies, troubles } = await policiesFolder(join(folder, 'missing'), {}, AT_ONCE)();
  assert.deepEqual(policies, []);
  assert.match(troubles.join(), /missing": ENOENT/);
});

test('a policy that is half written while it is read counts once it is whole, and never without its last lines', async () => {
  const whole = `${named('one')}limits: { per_payment: ["5.00 MXN"], paid_per_run: ["5.00 MXN"] }\n`;
  const half = named('one');
  const writes: (() => Promise<void>)[] = [];
  const reader = policiesFolder(folder, {}, { pause: async () => writes.shift()?.() });
  const limitsNow = async (): Promise<readonly unknown[]> =>
    (await reader()).policies.map(({ policy }) => policy.rules.limits?.perPayment.length ?? null);
  await put('one.yaml', half);
  writes.push(() => put('one.yaml', whole));
  assert.deepEqual(await limitsNow(), [1]);
  // Somebody writes it anew: for a moment it is empty, and for another one it lacks its limits.
  await put('one.yaml', '');
  writes.push(
    () => put('one.yaml', half),
    () => put('one.yaml', whole),
  );
  assert.deepEqual(await limitsNow(), [1]);
  await put('one.yaml', half);
  assert.deepEqual(await limitsNow(), [null], 'it stays as it is');
});

test('a folder that changes with each reading allows nothing, and says so', async () => {
  await put('one.yaml', named('one'));
  let nth = 0;
  const reader = policiesFolder(folder, {}, { pause: () => put('two.yaml', named(`two-${(nth += 1)}`)) });
  const { policies, troubles } = await reader();
  assert.deepEqual(policies, []);
  assert.match(troubles.join(), /is being changed/);
});

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEbQw1sTt+bYJUdkY/jovjtF+wjGeUc9zNSLjdTZm/YR';
const RULES = 'approvals: 1\nrules: [{ above: "5.00 USD", need: 1, of: [ana], within: 4h }]\n';

test('rules of approvals are read with who may sign; with a mistake in one of the files, or once one is gone, nothing is allowed', async () => {
  await put('one.yaml', named('one'));
  const now = policiesFolder(folder, {}, AT_ONCE);
  assert.equal((await now()).approvals, null);
  await put('approvals.yaml', RULES);
  await assertNothing(now, /"allowed_signers": there is no such file/);
  await put('allowed_signers', `ana ${KEY}\n`);
  const { approvals, policies, troubles } = await now();
  assert.deepEqual(
    [approvals?.rules.length, approvals?.signers[0]?.name, approvals?.revokedKeys],
    [1, 'ana', null],
  );
  assert.deepEqual([policies.length, troubles], [1, []]);
  await put('allowed_signers', `*@example.com ${KEY}\n`);
  await assertNothing(now, /"allowed_signers": line 1 is not "name key"/);
  await put('allowed_signers', `ana ${KEY}\n`);
  await put('revoked_keys', `${KEY}\n`);
  assert.equal((await now()).approvals?.revokedKeys, Buffer.from(`${KEY}\n`).toString('base64'));
  await rm(join(folder, 'revoked_keys'));
  await assertNothing(now, /"revoked_keys" was there, and is missing now/);
  await put('revoked_keys', `${KEY}\n`);
  await put('approvals.yaml', RULES.replace('need: 1', 'need: 2'));
  await assertNothing(now, /approvals\.yaml:2:\d+: 2 people must sign/);
  await rm(join(folder, 'approvals.yaml'));
  await assertNothing(now, /"approvals\.yaml" was there, and is missing now/);
  await put('Approvals.yml', RULES);
  await assertNothing(now, /"Approvals\.yml" must have the name "approvals\.yaml"/);
});

test('a rule for a policy that is not there, and a person who is not in the list, are told', async () => {
  await put('one.yaml', named('one'));
  await put('approvals.yaml', RULES.replace('[{ ', '[{ policies: [two], ').replace('[ana]', '[ana, ben]'));
  await put('allowed_signers', `ana ${KEY}\n`);
  const told = (await read()).troubles.join('\n');
  assert.match(told, /"approvals\.yaml" names policy "two", which is not in the folder/);
  assert.match(told, /"approvals\.yaml" names "ben", who is not in "allowed_signers"/);
});

test('in live, what binds nobody allows nothing: an unknown file, a nearly right name, and a rule for nobody; in sandbox it is told', async () => {
  const pause = async (): Promise<void> => {};
  const strict = policiesFolder(folder, {}, { isStrict: true, pause });
  await put('one.yaml', named('one'));
  await put('approvals.yaml', RULES);
  await put('ceilings.yaml', UNBOUNDED);
  await put('allowed_signers', `ana ${KEY}\n`);
  await put('revoked_keys', '');
  await mkdir(join(folder, 'revoked'));
  await put('revoked/.gitkeep', '');
  await put('rates.yaml', 'as_of: 2026-11-20T16:00:00+01:00\nrates: []\n');
  await put('README.md', 'how to deploy it');
  assert.equal((await strict()).policies.length, 1);
  const odd: readonly (readonly [string, string, RegExp])[] = [
    ['approval.yaml', RULES, /"approval\.yaml" is no policy and no file that one names/],
    ['revoked_kyes', KEY, /"revoked_kyes" must have the name "revoked_keys"/],
    ['Allowed_Signers', KEY, /"Allowed_Signers" must have the name "allowed_signers"/],
    ['revoked/one.yaml.txt', named('one'), /"revoked\/one\.yaml\.txt" is no file \*\.yaml/],
    ['approvals.yaml', RULES.replace('[{ ', '[{ policies: [two], '), /names policy "two"/],
    ['approvals.yaml', RULES.replace('[ana]', '[ana, ben]'), /names "ben", who is not in/],
  ];
  for (const [name, text, why] of odd) {
    // One after the other.
    await put(name, text);
    await assertNothing(strict, why);
    const told = await policiesFolder(folder, {}, { pause })();
    assert.equal(told.policies.length, 1);
    assert.match(told.troubles.join('\n'), why);
    await (name === 'approvals.yaml' ? put(name, RULES) : rm(join(folder, name)));
  }
  assert.equal((await strict()).policies.length, 1);
});

test('in live, a worker that starts with a half deployed folder allows nothing; what is revoked, what binds a day, who must sign and which keys are revoked must stand in it', async () => {
  // Each reader is that of a worker that has just started, and has never seen the folder whole.
  const strict = () => policiesFolder(folder, {}, { isStrict: true, ...AT_ONCE })();
  await put('one.yaml', named('one'));
  await mkdir(join(folder, 'revoked'));
  await put('allowed_signers', `ana ${KEY}\n`);
  await put('revoked_keys', '');
  await put('ceilings.yaml', UNBOUNDED);
  await assertNothing(strict, /"approvals\.yaml" is not there: write it, with `rules: \[\]`/);
  const lax = await read();
  assert.deepEqual(
    [lax.policies.length, lax.troubles],
    [1, ['"allowed_signers" is there, and "approvals.yaml" is not: nobody is asked to sign']],
  );
  await put('approvals.yaml', RULES);
  assert.equal((await strict()).approvals?.rules.length, 1);
  await rm(join(folder, 'ceilings.yaml'));
  await assertNothing(strict, /"ceilings\.yaml" is not there: write it, with `unbounded: true`/);
  assert.deepEqual([(await read()).policies.length, (await read()).ceilings], [1, null]);
  await put('ceilings.yaml', UNBOUNDED);
  await rm(join(folder, 'revoked_keys'));
  await assertNothing(strict, /"revoked_keys" is not there: make it, empty where no key is revoked/);
  await put('revoked_keys', '');
  await rm(join(folder, 'revoked'), { recursive: true });
  await assertNothing(strict, /folder "revoked" is not there/);
  await mkdir(join(folder, 'revoked'));
  // That nobody has to sign is written too. Then nobody need be able to.
  await put('approvals.yaml', 'approvals: 1\nrules: []\n');
  for (const name of ['allowed_signers', 'revoked_keys']) await rm(join(folder, name));
  const { policies, approvals, troubles } = await strict();
  assert.deepEqual([policies.length, approvals?.rules, troubles], [1, [], []]);
});

test('a name in the folder that leads to no file allows nothing, in sandbox too: a link whose target is not there yet, or a folder', async () => {
  for (const name of ['approvals.yaml', 'ceilings.yaml', 'allowed_signers', 'revoked_keys', 'revoked']) {
    await put('one.yaml', named('one'));
    await put('approvals.yaml', RULES);
    await put('allowed_signers', `ana ${KEY}\n`);
    await rm(join(folder, name), { force: true });
    await symlink('..data/nowhere', join(folder, name));
    // One after the other.
    await assertNothing(read, new RegExp(`"${name}"`));
    await rm(join(folder, name));
    if (name === 'revoked') continue;
    await mkdir(join(folder, name));
    await assertNothing(read, new RegExp(`"${name}"`));
    await rm(join(folder, name), { recursive: true });
  }
});

test('in live, a policy that a rule names can be revoked, moved away as revoked, or have a mistake, and the others go on', async () => {
  const strict = policiesFolder(folder, {}, { isStrict: true, ...AT_ONCE });
  await put('one.yaml', named('one'));
  await put('two.yaml', named('two'));
  await put('approvals.yaml', RULES.replace('[{ ', '[{ policies: [one], '));
  await put('ceilings.yaml', 'ceilings: 1\nworkers: 2\npolicies: { one: {} }\n');
  await put('allowed_signers', `ana ${KEY}\n`);
  await put('revoked_keys', '');
  await mkdir(join(folder, 'revoked'));
  const holding = async (): Promise<readonly string[]> =>
    (await strict()).policies.map(({ policy }) => policy.name);
  assert.deepEqual(await holding(), ['one', 'two']);
  await put('revoked/incident.yaml', named('one'));
  assert.deepEqual(await holding(), ['two']);
  await rm(join(folder, 'one.yaml'));
  assert.deepEqual(await holding(), ['two']);
  await rm(join(folder, 'revoked/incident.yaml'));
  for (const [file, text] of [
    ['first.yaml', `${named('one')}limit: 5\n`],
    ['first.yaml', named("'one' # the first")],
    ['one.yaml', 'policy: 1\nnmae: one\n'],
  ] as const) {
    // One after the other.
    await put(file, text);
    assert.deepEqual((await holding()).slice(-1), ['two'], text);
    await rm(join(folder, file));
  }
  await assertNothing(strict, /names policy "one", which is not in the folder/);
});

test('in live, what an editor leaves beside the files stops nothing and is no policy', async () => {
  const strict = policiesFolder(folder, {}, { isStrict: true, ...AT_ONCE });
  await mkdir(join(folder, 'revoked'));
  await put('approvals.yaml', 'approvals: 1\nrules: []\n');
  await put('ceilings.yaml', UNBOUNDED);
  await put('one.yaml', named('one'));
  for (const name of ['allowed_signers~', '.revoked_keys.swp', '.one.yaml', 'one.yaml~', 'revoked/one.yaml~'])
    await put(name, named('one'));
  await symlink('ana@laptop.812', join(folder, 'revoked/.#one.yaml'));
  const { policies, troubles } = await strict();
  assert.deepEqual([policies.length, troubles], [1, []]);
});

async function assertNothing(now: ReturnType<typeof policiesFolder>, why: RegExp): Promise<void> {
  const { policies, approvals, troubles } = await now();
  assert.deepEqual([policies, approvals], [[], null]);
  assert.match(troubles.join('\n'), why);
}
