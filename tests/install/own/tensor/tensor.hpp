#pragma once
constexpr double kOwnRate = 0.02;
