/**
 * The mistakes in a user's file: what each one means, and what to do. A command that finds one says more closely what is
 * wrong at its place. With the name of the kind of file before it, a mistake is a code: `POLICY_UNKNOWN_FIELD`. Pure.
 */
import type { ProblemRow } from './endings.ts';

type MistakeRow = Pick<ProblemRow, 'sentence' | 'advice'>;

/** A public surface: mistakes are only added. */
export const FILE_MISTAKES = {
  // The text itself.
  FORM: {
    sentence: 'The file is of another kind, such as a workbook, XML, a JSON list or a file for a bank.',
    advice:
      'Save or export the payments as CSV, with a first line that names the columns. For a JSON list, use `check` with --fix.',
  },
  TOO_LARGE: {
    sentence: 'The file, or a part of it, is larger than Cambist reads.',
    advice: 'Make it smaller, or split it into several files.',
  },
  CONTROL_CHARACTER: {
    sentence: 'The text has an invisible character.',
    advice: 'Delete it, and save the file as plain UTF-8 text.',
  },
  SYNTAX: {
    sentence: 'The text is not YAML, CSV or JSON as it should be: often a quote or a bracket is missing.',
    advice: 'Correct the place that is shown.',
  },
  SEVERAL_DOCUMENTS: {
    sentence: 'The file has more than one YAML document.',
    advice: 'Delete the line `---` or `...`, or make a file of each document.',
  },
  DIRECTIVE: {
    sentence: 'A line begins with `%`, which YAML takes for a directive.',
    advice: 'Delete the line.',
  },
  ALIAS: {
    sentence: 'A `*` stands for a value that is written elsewhere.',
    advice: 'Write the value itself, or put a text that begins with `*` in quotes.',
  },
  ANCHOR: {
    sentence: 'A `&` gives a value a name, to be used elsewhere.',
    advice: 'Delete the name, or put a text that begins with `&` in quotes.',
  },
  TAG: {
    sentence: 'A `!` gives a value a YAML type.',
    advice: 'Delete the type, or put a text that begins with `!` in quotes.',
  },
  MERGE_KEY: {
    sentence: 'A `<<` takes fields over from another place.',
    advice: 'Write the fields themselves.',
  },
  DUPLICATE_KEY: {
    sentence: 'A field is written twice.',
    advice: 'Delete one of the two.',
  },
  KEY: {
    sentence: 'The text before a colon is not the name of a field.',
    advice: 'Write `name: value`.',
  },
  TEXT: {
    sentence:
      'A text is not written plainly: it has escapes, line breaks or blanks around it, or it is too long.',
    advice: 'Write the text itself, on one line.',
  },
  TOO_DEEP: {
    sentence: 'Fields stand inside other fields on more levels than Cambist reads.',
    advice: 'Write it with fewer levels.',
  },
  TOO_MANY_PROBLEMS: {
    sentence: 'The file has more mistakes than are shown.',
    advice: 'Correct those that are shown, then check the file again.',
  },
  // Fields.
  UNKNOWN_FIELD: {
    sentence: 'Cambist knows no field of this name at this place.',
    advice: 'Correct the name; docs/policies.md lists the fields.',
  },
  MISSING_FIELD: {
    sentence: 'A field that is needed is missing.',
    advice: 'Write it, as the message shows.',
  },
  EMPTY_FIELD: {
    sentence: 'A field or a cell that is needed is empty.',
    advice: 'Write its value.',
  },
  WRONG_TYPE: {
    sentence: 'A field has another kind of value than it takes, such as a text where a list is needed.',
    advice: 'Write it as the message shows.',
  },
  NOT_ONE_OF: {
    sentence: 'The value is not one of those that the field takes.',
    advice: 'Write one of those that the message lists.',
  },
  NUMBER: {
    sentence: 'A whole number is needed, within the bounds that the message names.',
    advice: 'Write the number without quotes.',
  },
  CONTRADICTION: {
    sentence: 'Two things in the file cannot both be true.',
    advice: 'Delete one of the two.',
  },
  // Values.
  AMOUNT_UNQUOTED: {
    sentence: 'An amount is not in quotes. A program that reads the file could round it.',
    advice: 'Write it in quotes: "1000.00".',
  },
  AMOUNT: {
    sentence: 'What stands there is not an amount.',
    advice:
      'Write digits with a point: 1000.00. Other ways of writing are declared by `numbers` in the policy.',
  },
  AMOUNT_BELOW_ZERO: {
    sentence: 'An amount is below zero. A batch only pays out.',
    advice: 'Delete the row. If the payee owes you this amount, lower another payment to the payee by it.',
  },
  AMOUNT_WITH_CURRENCY: {
    sentence: 'An amount has a currency beside it in one cell.',
    advice: 'Write the amount alone; the currency stands in its own column.',
  },
  AMOUNT_DECIMALS: {
    sentence: 'An amount has more decimals than its currency.',
    advice: 'Write it with fewer decimals.',
  },
  AMOUNT_THOUSANDS: {
    sentence:
      'Warning: every amount of a currency has three digits after the point, which may separate thousands.',
    advice: 'See the sum. If it is too small, say in the policy how amounts are written: `numbers`.',
  },
  AMOUNT_CURRENCY: {
    sentence: 'A column of the file does not say that the amount is in the currency of the payment.',
    advice: 'Write the amount that the payee gets, in the currency of the payment.',
  },
  AMOUNT_ABOVE_LIMIT: {
    sentence: 'An amount, or the sum, is above a limit of the policy.',
    advice: 'Lower the amount, or raise the limit if you mean it.',
  },
  MONEY: {
    sentence: 'An amount with its currency is needed.',
    advice: 'Write both in quotes: "1500.00 USD".',
  },
  RATE: {
    sentence: 'What stands there is not a rate.',
    advice: 'Write it in quotes: "16.90 MXN per USD".',
  },
  RATE_PAIR: {
    sentence: 'A rate is between currencies that the policy does not trade, or in the wrong direction.',
    advice: 'Write the rate of a pair that the policy trades.',
  },
  RATE_TWICE: {
    sentence: 'Two rates are of the same pair.',
    advice: 'Keep one of them.',
  },
  RATES_DISAGREE: {
    sentence:
      'Three reference rates disagree by more than 3 %: two of them give another rate than the third.',
    advice: 'Correct the one that is wrong.',
  },
  CURRENCY: {
    sentence: 'What stands there is not the code of a currency.',
    advice: 'Write the code in capitals: USD, USDC.',
  },
  SAME_CURRENCY: {
    sentence: 'A currency is converted into itself.',
    advice: 'Write two different currencies.',
  },
  CURRENCY_UNKNOWN: {
    sentence: 'Warning: Cambist does not know the currency, and takes it to have two decimals.',
    advice: 'Correct the code, or write the decimals of the currency into the service file.',
  },
  CURRENCY_NOT_WITHDRAWABLE: {
    sentence: 'Warning: the service is not known to pay out this currency.',
    advice: 'Ask the operator of the service, or pay in another currency.',
  },
  DURATION: {
    sentence: 'What stands there is not a duration.',
    advice: 'Write a whole number and s, m, h or d: 45s, 30m, 6h, 2d.',
  },
  NAME: {
    sentence: 'The name of the policy has other characters than a name may have.',
    advice: 'Write 1 to 40 small letters, digits and "-", a letter or digit first: mxn-supplier.',
  },
  ID: {
    sentence: 'The id of a payment has other characters than an id may have.',
    advice:
      'Write 1 to 64 letters, digits, "_" and "-", a letter or digit first: inv-1042. A batch file may keep its own ids with `as: slug` in the policy.',
  },
  DUPLICATE_ID: {
    sentence: 'Two payments have the same id; small and capital letters make no difference.',
    advice: 'Give each payment an id of its own, or delete the one that is there twice.',
  },
  ID_OF_LEG: {
    sentence:
      'A payment has the id of a trade of its run, so that nobody could say which of the two he means.',
    advice: 'Give the payment another id. Trades are called by their currencies and a number: usd-mxn-1.',
  },
  ACCOUNT: {
    sentence: 'What stands there is not the id of a withdrawal account.',
    advice: 'Copy the id from `npx cambist accounts`, or from the service.',
  },
  ZONE: {
    sentence: 'What stands there is not a time zone.',
    advice: 'Write the name of a zone: UTC, Europe/Paris.',
  },
  COST: {
    sentence: 'What stands there is not a cost in basis points.',
    advice: 'Write a number and bps: 25bps is 0.25 %.',
  },
  PERCENT: {
    sentence: 'What stands there is not a percentage from 0% to 100%.',
    advice: 'Write a number and %: 12.5%.',
  },
  FILE: {
    sentence: 'What stands there is not the path of a file beside the policy.',
    advice: 'Write a path inside the folder of the policy that ends in .yaml: rates/daily.yaml.',
  },
  COLUMN: {
    sentence: 'What stands there is not the name of a column.',
    advice: 'Write the name as the first line of the batch file has it.',
  },
  DATE: {
    sentence: 'What stands there is not a calendar date.',
    advice: 'Write year, month and day: 2026-11-01.',
  },
  TIME: {
    sentence: 'What stands there is not a time of day.',
    advice: 'Write hours and minutes in quotes: "09:30".',
  },
  INSTANT: {
    sentence: 'What stands there is not a date and a time with the offset from UTC.',
    advice: 'Write them so: 2026-11-20T16:00:00+01:00.',
  },
  STATUS: {
    sentence: 'What stands there is not a status.',
    advice: 'Write the status as the service sends it: COMPLETED.',
  },
  // Rules of a policy.
  VERSION: {
    sentence: 'The policy is written for another version of the policy language.',
    advice: 'Write `policy: 1`, or use the version of Cambist that the policy was written for.',
  },
  KIND: {
    sentence: 'There is no such kind of policy.',
    advice: 'Write `kind: convert`, `kind: rebalance` or `kind: payout`.',
  },
  NOT_AVAILABLE: {
    sentence: 'The field belongs to another kind of policy.',
    advice: 'Delete it, or change `kind`.',
  },
  LIVE_UNSTATED: {
    sentence: 'A policy for live does not say something that could cost money.',
    advice: 'Write it; Cambist takes no default for it in live.',
  },
  LIMIT_CURRENCY: {
    sentence: 'A limit is in another currency than the amounts that it limits.',
    advice: 'Write the limit in a currency that the message names.',
  },
  LIMIT_TWICE: {
    sentence: 'A limit is written twice for one currency.',
    advice: 'Keep one of them.',
  },
  COLUMN_TWICE: {
    sentence: 'Two columns have the same name, or one column is used for two things.',
    advice: 'Give each column a name of its own, and name each in the policy once.',
  },
  ROW_IGNORED: {
    sentence: 'Warning: a row is left out, as `ignore` in the policy says.',
    advice: 'See that the row is no payment.',
  },
  ROUNDING_MISSING: {
    sentence: 'An amount comes from a trade, and the policy does not say how to round it.',
    advice: 'Write `rounding: down` or `rounding: half-even` beside it.',
  },
  PROCEEDS_TWICE: {
    sentence: 'Two payments would each pay the whole bought amount.',
    advice: 'Keep one entry with `amount: proceeds`.',
  },
  PROCEEDS_WITH_FIXED: {
    sentence: 'One payment pays the whole bought amount, and others would pay more than that.',
    advice: 'Write `amount: rest` in place of `amount: proceeds`, or delete the others.',
  },
  REST_TWICE: {
    sentence: 'Two payments would each pay all that the fixed amounts leave.',
    advice: 'Keep one entry with `amount: rest`.',
  },
  REST_WITH_PROCEEDS: {
    sentence: 'One payment pays the whole bought amount, so nothing is left for the rest.',
    advice: 'Write `{ fixed: "…" }` in place of `proceeds`, or delete one of the two.',
  },
  REST_OF_NOTHING: {
    sentence: 'The fixed amounts are all that is bought, so there is no rest.',
    advice: 'Buy more, or delete the entry with `amount: rest`.',
  },
  WITHDRAWALS_EXCEED_AMOUNT: {
    sentence: 'The payments add up to more than is bought.',
    advice: 'Buy more, or pay less.',
  },
  WITHDRAWALS_UNCOVERED: {
    sentence: 'Warning: the sale may bring less than the payments add up to.',
    advice: 'Write `amount: { buy: … }` for exactly what is paid, or see that the balance covers the rest.',
  },
  TARGET: {
    sentence: 'A currency of a rebalancing has no target, or targets that contradict each other.',
    advice: 'Write one of `keep` with `band`, `share` with `band`, `min`, `max`.',
  },
  BAND_TOO_LARGE: {
    sentence: 'A band is larger than the amount or share around which it lies.',
    advice: 'Write a smaller band.',
  },
  SHARES_TOO_LARGE: {
    sentence: 'The shares add up to more than 100 %.',
    advice: 'Lower them.',
  },
  BASE_CURRENCY: {
    sentence:
      'The base currency has a target, or the policy says that it is never sold. But every trade is against the base currency.',
    advice: 'Delete that. The least that must stay of the base is `base.min`.',
  },
  // Its schedule.
  CLOCK_CHANGE: {
    sentence: 'On some day the clocks of the zone are changed at this time of day.',
    advice: 'Write the time that the message names.',
  },
  CALENDAR: {
    sentence: 'Cambist knows no calendar of holidays of this name.',
    advice: 'Write a country by its ISO code (FR, US-NY), or list the dates.',
  },
  LISTED_TWICE: {
    sentence: 'A list has the same entry twice.',
    advice: 'Delete one of the two.',
  },
  NO_DAY_LEFT: {
    sentence: 'The schedule has no day on which it would start a run.',
    advice: 'Write other days or a later `end`, or delete `schedule`.',
  },
  MAX_AGE: {
    sentence:
      'Warning: on some day of the schedule the reference rates would be older than `max_age` allows, such as after a weekend.',
    advice: 'Write a longer `max_age`, or see that the rates are renewed before that run.',
  },
  // A batch file.
  ENCODING: {
    sentence: 'The file is in another encoding than the policy says.',
    advice: 'Save it as UTF-8 (in a spreadsheet: "CSV UTF-8"), or write `encoding` into the policy.',
  },
  EMPTY: {
    sentence: 'The file has no payment.',
    advice: 'Write a first line that names the columns, then one row for each payment.',
  },
  COLUMN_MISSING: {
    sentence: 'The file has no column of a name that the policy gives.',
    advice: 'Name the column in the first line of the file, or correct `columns` in the policy.',
  },
  CELLS: {
    sentence: 'A row has more or fewer cells than the first line.',
    advice: 'Write every cell, also the empty ones; put a cell with a comma in quotes.',
  },
  HEADER_TWICE: {
    sentence: 'A row names the columns once more.',
    advice: 'Delete it. If it names them in another order, make two batches.',
  },
  SHORTENED: {
    sentence: 'A spreadsheet has shortened a number (1.23E+15), and some of its digits are lost.',
    advice:
      'In the spreadsheet make the cells of this column text, and copy the value once more from where it came.',
  },
  SHEET_ERROR: {
    sentence: 'A spreadsheet could not calculate or show the value of a cell (#N/A, ####).',
    advice: 'Mend the formula or widen the column in the spreadsheet, and save the file again.',
  },
  QUOTES: {
    sentence: 'A value stands in quotes that are not those of CSV, or behind an apostrophe.',
    advice: 'Write the value alone. The quotes of CSV are straight: "',
  },
  FORMULA: {
    sentence: 'A cell begins like a formula, which a spreadsheet would calculate.',
    advice: 'Delete the sign at its beginning.',
  },
  LOOK_ALIKE: {
    sentence: 'Warning: two payments have the same account, currency and amount.',
    advice: 'See that you mean both; if not, delete one of the two.',
  },
  LIMIT_MISSING: {
    sentence: 'A batch for live pays a currency for which the policy has no limit.',
    advice: 'Write a limit in this currency into the policy.',
  },
  DESTINATION_UNKNOWN: {
    sentence: 'An account is not among the destinations of the policy.',
    advice: 'Correct the account, or have it added to the file of destinations.',
  },
  DESTINATION_CURRENCY: {
    sentence: 'The file of destinations says that the account takes another currency.',
    advice: 'Pay it in that currency, or correct the account.',
  },
  TRAILER: {
    sentence: 'The last line, with the number of payments and the sums, is not as it should be.',
    advice: 'Write it as the message shows, on a line of its own at the end.',
  },
  CONTROL_COUNT: {
    sentence: 'The file has more or fewer payments than was expected.',
    advice: 'Find out which rows are missing or too many, or correct the number.',
  },
  CONTROL_TOTAL: {
    sentence: 'The payments of a currency add up to another sum than was expected.',
    advice: 'Find out which amounts differ, or correct the sum.',
  },
} as const satisfies Readonly<Record<string, MistakeRow>>;

/** A mistake in a user's file, which is the second part of its code. */
export type FileMistake = keyof typeof FILE_MISTAKES;
