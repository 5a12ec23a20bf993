// To come.

import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';

export function ProductScreen() {
  return <Screen title={texts.product.title}>{texts.nothing}</Screen>;
}
