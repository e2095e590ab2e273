// Every header of the contract compiles as C++ too, and by itself in any order.
#include "kwsim/recorder.h"
#include "kwsim/backend.h"
#include "kwsim/clock.h"
#include "kwsim/dataset.h"
#include "kwsim/grid.h"
#include "kwsim/log.h"
#include "kwsim/machine.h"
#include "kwsim/prep.h"
#include "kwsim/problem.h"
#include "kwsim/scene.h"
#include "kwsim/shape.h"
#include "kwsim/slots.h"
#include "kwsim/sources.h"
#include "kwsim/status.h"
#include "kwsim/tables.h"

int main() { return 0; }
