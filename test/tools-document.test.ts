import { expect, test } from 'vitest'
import { toolsDocument } from './support/tools-document.ts'

test('docs/tools.md is what the declarations say (npm test -- test/tools-document.test.ts -u writes it anew)', async () => {
  await expect(toolsDocument()).toMatchFileSnapshot('../docs/tools.md')
})
