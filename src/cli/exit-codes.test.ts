import { expect, test } from 'vitest'
import { RuntimeError } from '../core/errors.ts'
import { exitCodeOfError, exitCodeOfRun } from './exit-codes.ts'

test('a run that is done exits with 0, or with 4 when something was denied that nobody was asked about', () => {
  expect(exitCodeOfRun({ status: 'done', denied: 0 })).toBe(0)
  expect(exitCodeOfRun({ status: 'done', denied: 2 })).toBe(4)
})

test('a run that failed, reached a limit or was interrupted says so, whatever was denied', () => {
  expect(exitCodeOfRun({ status: 'failed', denied: 1 })).toBe(1)
  expect(exitCodeOfRun({ status: 'limit', denied: 1 })).toBe(3)
  expect(exitCodeOfRun({ status: 'interrupted', denied: 1 })).toBe(130)
})

test('what the caller can repair by another argument exits with 2, everything else with 1', () => {
  expect(exitCodeOfError(new RuntimeError('unknown-agent', 'no such agent'))).toBe(2)
  expect(exitCodeOfError(new RuntimeError('model-unreachable', 'no server'))).toBe(2)
  expect(exitCodeOfError(new RuntimeError('disk-full', 'no room'))).toBe(1)
  expect(exitCodeOfError(new Error('a bug'))).toBe(1)
  expect(exitCodeOfError(null)).toBe(1)
})
