/** Exact decimals: nothing rounds unasked, nothing prints an exponent, nothing but plain decimals is read (M5). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as money from '../../domain/money.ts';

test('only plain decimals are amounts', () => {
  for (const text of ['0', '1', '-1', '0.1', '007.50', '1000000000000000000000000.00000001'])
    assert.equal(money.isDecimal(text), true, text);
  const refused = [
    '',
    '.5',
    '1.',
    '+1',
    '1e3',
    '1,000',
    ' 1',
    '1 ',
    '1\n',
    'NaN',
    'Infinity',
    '0x10',
    '١',
    '--1',
  ];
  for (const text of [...refused, '1'.repeat(201)]) {
    assert.equal(money.isDecimal(text), false, text);
    assert.throws(() => money.normalise(text), RangeError, text);
  }
});

test('a number has one canonical text, without exponent, however small or large', () => {
  const rows: readonly (readonly [string, string])[] = [
    ['007.50', '7.5'],
    ['0.00', '0'],
    ['-0', '0'],
    ['-0.10', '-0.1'],
    ['0.000000000000000000000001', '0.000000000000000000000001'],
    ['123456789012345678901234567890.10', '123456789012345678901234567890.1'],
  ];
  for (const [text, canonical] of rows) assert.equal(money.normalise(text), canonical, text);
});

test('amounts are compared as numbers, not as texts', () => {
  const rows: readonly (readonly [string, string, -1 | 0 | 1])[] = [
    ['10', '9', 1],
    ['1.10', '1.1', 0],
    ['-2', '1', -1],
    ['0.1', '0.10000000000000000000000001', -1],
    ['9007199254740993', '9007199254740992', 1],
  ];
  for (const [a, b, expected] of rows) {
    assert.equal(money.compare(a, b), expected, `${a} ? ${b}`);
    assert.equal(money.equal(a, b), expected === 0);
  }
  assert.equal(money.isPositive('0.00000001'), true);
  assert.equal(money.isPositive('0'), false);
  assert.equal(money.isPositive('-1'), false);
});

test('sums, differences and products are exact where binary numbers are not', () => {
  assert.equal(money.add('0.1', '0.2'), '0.3');
  assert.equal(money.subtract('1', '0.9'), '0.1');
  assert.equal(money.subtract('1', '2'), '-1');
  assert.equal(money.multiply('1.15', '100'), '115');
  const long = '99999999999999999999.99999999';
  assert.equal(money.multiply(long, long), '9999999999999999999999999998000000000000.0000000000000001');
  assert.equal(money.sum([]), '0');
  assert.equal(money.sum(Array.from({ length: 10 }, () => '0.10')), '1');
});

test('a quotient has as many significant digits as are asked for, half to even', () => {
  assert.equal(money.divide('17250', '1000', 12), '17.25');
  assert.equal(money.divide('1', '3', 12), '0.333333333333');
  assert.equal(money.divide('2', '3', 4), '0.6667');
  assert.equal(money.divide('1', '8', 2), '0.12');
  assert.equal(money.divide('3', '8', 2), '0.38');
  assert.equal(money.divide('1', '10000000000', 12), '0.0000000001');
  assert.throws(() => money.divide('1', '0.00', 12), /Division of 1 by zero/);
});

test('rounding goes the way that is named', () => {
  const rows: readonly (readonly [string, number, money.Rounding, string])[] = [
    ['17.255', 2, 'down', '17.25'],
    ['17.255', 2, 'up', '17.26'],
    ['17.255', 2, 'half-even', '17.26'],
    ['17.245', 2, 'half-even', '17.24'],
    ['-17.255', 2, 'down', '-17.25'],
    ['17.999', 0, 'down', '17'],
    ['17', 2, 'down', '17'],
    ['0.000000012', 8, 'up', '0.00000002'],
    ['1234567890123456789012.345', 2, 'down', '1234567890123456789012.34'],
  ];
  for (const [value, decimals, rounding, expected] of rows)
    assert.equal(money.round(value, decimals, rounding), expected, `${value} ${rounding}`);
  assert.equal(money.decimalPlaces('1.500'), 1);
  assert.equal(money.decimalPlaces('100'), 0);
});
