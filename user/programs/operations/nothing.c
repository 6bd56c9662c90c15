// The dynamic program that `operations exec-dynamic` executes. Its interpreter, which is also its library, is named by a
// path in /host of the guest: nothing has to be installed there.
int main(void) {
  return 0;
}
